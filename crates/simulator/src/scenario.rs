//! What goes wrong and when: workers and routers lost, added, drained; metrics that stop; caches under pressure.

use std::fmt;

use serde::Deserialize;

/// Incidents on a timeline.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Scenario {
    /// In any order.
    pub incidents: Vec<Incident>,
}

/// One thing that happens at one time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Incident {
    /// Seconds from the start.
    pub at_s: f64,
    /// What.
    #[serde(rename = "do")]
    pub kind: IncidentKind,
    /// Which worker or router, from 0; a worker that is added gets the next free number.
    #[serde(default)]
    pub number: usize,
    /// For pressure: the share of the cache that is taken, 0 to 1.
    #[serde(default)]
    pub share: f64,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the loop of the simulation handles each"
)]
pub enum IncidentKind {
    /// The worker's process is gone, with its requests and its cache.
    WorkerLost,
    /// It is back with an empty cache, or no longer draining.
    WorkerBack,
    /// There is one more.
    WorkerAdded,
    /// It finishes what it has and gets nothing new.
    WorkerDraining,
    /// Its process is replaced at once: requests and cache are lost.
    WorkerRestarted,
    /// Reports stop.
    ReportsStop,
    /// Reports come again.
    ReportsResume,
    /// A share of the worker's cache is taken by something else, until another share is set.
    Pressure,
    /// The router gets nothing new; others take its requests.
    RouterLost,
    /// It is back with an empty memory.
    RouterBack,
}

/// The most incidents of a scenario.
const MOST_INCIDENTS: usize = 10_000;
/// The most workers and routers.
pub(crate) const MOST_WORKERS: usize = 1_024;

/// A scenario cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScenarioError {
    /// What is wrong, with its place where there is one.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScenarioError {}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// It is not YAML, has an unknown key or kind, or a number that cannot be.
    pub fn from_yaml(text: &str) -> Result<Self, ScenarioError> {
        let fail = |message: String| ScenarioError { message };
        let scenario: Self = serde_yaml::from_str(text).map_err(|error| fail(error.to_string()))?;
        if scenario.incidents.len() > MOST_INCIDENTS {
            return Err(fail(format!("more than {MOST_INCIDENTS} incidents")));
        }
        for (at, incident) in scenario.incidents.iter().enumerate() {
            if !(0.0..=1e9).contains(&incident.at_s) {
                return Err(fail(format!(
                    "incidents[{at}]: `at_s` is `{}`: set it to 0 to 1e9",
                    incident.at_s
                )));
            }
            if !(0.0..=1.0).contains(&incident.share) {
                return Err(fail(format!(
                    "incidents[{at}]: `share` is `{}`: set it to 0 to 1",
                    incident.share
                )));
            }
            if incident.number >= MOST_WORKERS {
                return Err(fail(format!(
                    "incidents[{at}]: `number` is `{}`: at most {} is possible",
                    incident.number,
                    MOST_WORKERS - 1
                )));
            }
        }
        Ok(scenario)
    }

    /// Checks that everything it speaks of is there, in a fleet of so many workers and routers.
    ///
    /// # Errors
    /// An incident that would do nothing.
    pub fn fits(&self, workers: usize, routers: usize) -> Result<(), ScenarioError> {
        let workers = workers + self.added();
        for (at, incident) in self.incidents.iter().enumerate() {
            let (what, count) = match incident.kind {
                IncidentKind::RouterLost | IncidentKind::RouterBack => ("routers", routers),
                IncidentKind::WorkerAdded
                | IncidentKind::ReportsStop
                | IncidentKind::ReportsResume => continue,
                _ => ("workers", workers),
            };
            if incident.number >= count {
                let number = incident.number;
                return Err(ScenarioError {
                    message: format!(
                        "incidents[{at}]: `number` is `{number}`: there are {count} {what}, counted from 0"
                    ),
                });
            }
        }
        Ok(())
    }

    /// Workers that are added.
    pub(crate) fn added(&self) -> usize {
        self.incidents
            .iter()
            .filter(|i| i.kind == IncidentKind::WorkerAdded)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_cannot_be_lost() {
        let fits = |text: &str| {
            let text = format!("incidents: [{text}]");
            Scenario::from_yaml(&text).unwrap().fits(4, 2).is_ok()
        };
        assert!(fits("{ at_s: 1, do: worker_lost, number: 3 }"));
        assert!(!fits("{ at_s: 1, do: worker_lost, number: 4 }"));
        let added = "{ at_s: 0, do: worker_added }";
        assert!(fits(&format!(
            "{added}, {{ at_s: 1, do: pressure, number: 4, share: 1 }}"
        )));
        assert!(fits("{ at_s: 1, do: router_lost, number: 1 }"));
        assert!(!fits("{ at_s: 1, do: router_back, number: 2 }"));
    }

    #[test]
    fn incidents_are_read_and_checked() {
        let text = "incidents:\n- { at_s: 60, do: worker_lost, number: 2 }\n- { at_s: 90.5, do: pressure, number: 1, share: 0.5 }\n";
        let scenario = Scenario::from_yaml(text).unwrap();
        assert_eq!(scenario.incidents[0].kind, IncidentKind::WorkerLost);
        assert_eq!(
            (scenario.incidents[1].number, scenario.incidents[1].share),
            (1, 0.5)
        );
        let check = |from: &str, to: &str, expected: &str| {
            let error = Scenario::from_yaml(&text.replace(from, to))
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("worker_lost", "worker_eaten", "worker_eaten");
        check("at_s: 60", "at_s: -1", "incidents[0]: `at_s` is `-1`");
        check("share: 0.5", "share: 1.5", "incidents[1]: `share` is `1.5`");
        check(
            "number: 2",
            "number: 5000",
            "incidents[0]: `number` is `5000`",
        );
        check("number: 2", "nummer: 2", "nummer");
    }
}
