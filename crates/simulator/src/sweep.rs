//! Many runs: traces × workers × loads × caches × policies, side by side on threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use headwater_placement::SettingsError;

use crate::outcome::Outcome;
use crate::policy::PolicyName;
use crate::profile::Profile;
use crate::run::{Conditions, simulate};
use crate::scale::{Load, scale};
use crate::trace::Trace;

/// What to run. Every combination is run.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "callers name all of it")]
pub struct Sweep<'s> {
    /// Workloads with their names.
    pub traces: &'s [(String, Trace)],
    /// What workers take for their work.
    pub profile: &'s Profile,
    /// Numbers of workers.
    pub workers: &'s [usize],
    /// Sizes of a worker's cache in tokens; the profile's if there is none.
    pub caches: &'s [u64],
    /// Loads as shares of the workers' time; the trace as it is if there is none.
    pub loads: &'s [f64],
    /// Which policies.
    pub policies: &'s [PolicyName],
    /// The most requests of a run, the first ones; nothing: all of a trace as recorded, and
    /// [`MOST_SCALED`] of one under a load.
    pub most_requests: Option<usize>,
    /// Runs at a time, 1 or more.
    pub threads: usize,
    /// All the rest; its workers and its cache are replaced.
    pub conditions: &'s Conditions,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cell {
    /// The workload's name.
    pub trace: String,
    /// The load; none if the trace was run as it is.
    pub load: Option<f64>,
    /// What came of it.
    pub outcome: Outcome,
}

/// One run that is to be made.
struct Task<'t> {
    cache: Option<u64>,
    policy: PolicyName,
    workers: usize,
    trace: &'t Trace,
}

impl Sweep<'_> {
    /// How many runs there are.
    #[must_use]
    pub fn runs(&self) -> usize {
        let (loads, caches) = (self.loads.len().max(1), self.caches.len().max(1));
        self.traces.len() * self.workers.len() * loads * caches * self.policies.len()
    }

    /// Makes all runs. The outcome does not depend on the number of threads.
    ///
    /// `progress` hears of each run that has ended.
    ///
    /// # Errors
    /// Placement refuses the settings.
    pub fn run(&self, progress: &(dyn Fn(&Cell) + Sync)) -> Result<Vec<Cell>, SettingsError> {
        let mut cells = Vec::with_capacity(self.runs());
        let loads = or_none(self.loads);
        for (name, trace) in self.traces {
            for workers in self.workers {
                for load in &loads {
                    let most = self.most_requests;
                    let made = match *load {
                        Some(share) => Some(Load {
                            workers: *workers,
                            share,
                            most_requests: most.unwrap_or(MOST_SCALED),
                            seed: self.conditions.seed,
                        })
                        .map(|load| scale(trace, self.profile, load)),
                        None => most
                            .filter(|most| *most < trace.len())
                            .map(|most| trace.first(most)),
                    };
                    let trace = made.as_ref().unwrap_or(trace);
                    let done = self.group((name, *load), trace, *workers, progress)?;
                    cells.extend(done);
                }
            }
        }
        Ok(cells)
    }

    /// The runs over one scaled trace.
    fn group(
        &self,
        labels: (&str, Option<f64>),
        trace: &Trace,
        workers: usize,
        progress: &(dyn Fn(&Cell) + Sync),
    ) -> Result<Vec<Cell>, SettingsError> {
        let caches = or_none(self.caches);
        let tasks: Vec<Task<'_>> = caches
            .iter()
            .flat_map(|cache| self.policies.iter().map(|policy| (*cache, *policy)))
            .map(|(cache, policy)| Task {
                cache,
                policy,
                workers,
                trace,
            })
            .collect();
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(tasks.len()));
        std::thread::scope(|scope| {
            for _ in 0..self.threads.clamp(1, tasks.len().max(1)) {
                scope.spawn(|| {
                    while let Some((number, task)) = {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        tasks.get(number).map(|task| (number, task))
                    } {
                        let cell = self.cell(labels, task);
                        if let Ok(cell) = &cell {
                            progress(cell);
                        }
                        done.lock()
                            .unwrap_or_else(std::sync::PoisonError::into_inner)
                            .push((number, cell));
                    }
                });
            }
        });
        let mut done = done
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, cell)| cell).collect()
    }

    fn cell(
        &self,
        (name, load): (&str, Option<f64>),
        task: &Task<'_>,
    ) -> Result<Cell, SettingsError> {
        let conditions = Conditions {
            workers: task.workers,
            cache_tokens: task.cache.or(self.conditions.cache_tokens),
            ..self.conditions.clone()
        };
        let outcome = simulate(task.trace, self.profile, task.policy, &conditions, &|_| ())?;
        Ok(Cell {
            trace: name.to_owned(),
            load,
            outcome,
        })
    }
}

fn or_none<T: Copy>(values: &[T]) -> Vec<Option<T>> {
    if values.is_empty() {
        vec![None]
    } else {
        values.iter().copied().map(Some).collect()
    }
}

/// Requests of a trace that is made to fit a load, unless the caller says otherwise.
pub const MOST_SCALED: usize = 30_000;
