//! One worker in virtual time: prompts prefilled one after the other, answers decoded together.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::cache::BlockCache;
use crate::profile::Profile;
use crate::trace::{Node, Trace, hit_tokens};

/// A request at a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its place in the trace.
    pub request: u32,
    /// Tokens of its prompt.
    pub input_tokens: u32,
    /// Tokens of its answer.
    pub output_tokens: u32,
    /// Tokens that are cached whatever the worker's own cache holds: for the unreachable bound of
    /// one endless cache shared by all.
    pub granted_tokens: Option<u32>,
}

/// Something that a client or a router can see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Happened {
    /// When, in milliseconds.
    pub at_ms: f64,
    /// To which request.
    pub request: u32,
    /// What.
    pub what: Milestone,
}

/// What happens to a request at a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// Its prompt has been prefilled; so many tokens of it were cached.
    FirstToken {
        /// Tokens that did not have to be computed.
        hit_tokens: u32,
    },
    /// Its answer has ended.
    Finished,
}

/// A worker: its cache, its queue, what it answers.
#[derive(Clone, Debug)]
pub struct Engine<'p> {
    profile: &'p Profile,
    block_tokens: u32,
    cache_tokens: u64,
    /// Share of the cache that something else takes.
    pressed: f64,
    cache: BlockCache,
    queue: VecDeque<Job>,
    running: BinaryHeap<Reverse<Running>>,
    /// Tokens that the running requests hold.
    kv_tokens: u64,
    /// Decode steps made since the worker began.
    steps: u64,
    phase: Phase,
    /// Prompt tokens computed since it began.
    computed_tokens: u64,
}

/// Ordered by the step after which it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Running {
    last_step: u64,
    request: u32,
    pinned: usize,
    /// Tokens that it holds at its end.
    held_tokens: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Idle,
    /// Steps of the running requests alone, until after so many.
    Decoding {
        since_ms: f64,
        stop_ms: f64,
        steps: u64,
    },
    /// A prompt in chunks, with one step of the running requests in each.
    Prefilling {
        prefill: Prefilling,
        since_chunk: u64,
        stop_ms: f64,
        steps: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Prefilling {
    job: Job,
    began_ms: f64,
    lasts_ms: f64,
    chunks: u64,
    hit_tokens: u32,
    pinned: usize,
}

impl<'p> Engine<'p> {
    /// A worker with an empty cache for so many tokens, in blocks.
    #[must_use]
    pub fn new(profile: &'p Profile, block_tokens: u32, cache_tokens: u64) -> Self {
        let mut engine = Self {
            profile,
            block_tokens: block_tokens.max(1),
            cache_tokens,
            pressed: 0.0,
            cache: BlockCache::new(0),
            queue: VecDeque::new(),
            running: BinaryHeap::new(),
            kv_tokens: 0,
            steps: 0,
            phase: Phase::Idle,
            computed_tokens: 0,
        };
        engine.cache.resize(engine.capacity_blocks());
        engine
    }

    /// Adds a request to the end of the queue.
    pub fn enqueue(&mut self, now_ms: f64, job: Job, trace: &Trace) {
        self.queue.push_back(job);
        match self.phase {
            Phase::Idle => self.go_on(now_ms, trace),
            // The engine looks at its queue between two steps.
            Phase::Decoding {
                since_ms, steps, ..
            } if self.admits(&job) && self.queue.len() == 1 => {
                let ends = |k: &u64| since_ms + self.steps_ms(*k) >= now_ms;
                let k = first_where(steps, ends);
                self.phase = Phase::Decoding {
                    since_ms,
                    stop_ms: since_ms + self.steps_ms(k),
                    steps: k,
                };
            }
            Phase::Decoding { .. } | Phase::Prefilling { .. } => {}
        }
    }

    /// When something happens next if nothing comes in between.
    #[must_use]
    pub fn next_ms(&self) -> Option<f64> {
        match self.phase {
            Phase::Idle => None,
            Phase::Decoding { stop_ms, .. } | Phase::Prefilling { stop_ms, .. } => Some(stop_ms),
        }
    }

    /// Lives until a moment and writes down what happened.
    pub fn advance(&mut self, now_ms: f64, trace: &Trace, happened: &mut Vec<Happened>) {
        while let Some(stop_ms) = self.next_ms().filter(|stop| *stop <= now_ms) {
            self.stop(stop_ms, trace, happened);
        }
    }

    /// The process is gone: its cache is empty and its requests have failed. Returns them, those
    /// without a first token first.
    pub fn crash(&mut self) -> Vec<u32> {
        let mut lost: Vec<u32> = Vec::new();
        if let Phase::Prefilling { prefill, .. } = self.phase {
            lost.push(prefill.job.request);
        }
        lost.extend(self.queue.drain(..).map(|job| job.request));
        let mut running: Vec<u32> = self.running.drain().map(|Reverse(r)| r.request).collect();
        running.sort_unstable();
        lost.extend(running);
        (self.kv_tokens, self.computed_tokens, self.phase) = (0, 0, Phase::Idle);
        self.cache.clear();
        lost
    }

    /// Something else takes this share of the cache from now on.
    pub fn press(&mut self, share: f64) {
        self.pressed = share.clamp(0.0, 1.0);
        self.cache.resize(self.capacity_blocks());
    }

    /// How many blocks of a path its cache holds.
    #[must_use]
    pub fn held_blocks(&self, path: &[Node]) -> usize {
        self.cache.held(path)
    }

    /// Requests that are being prefilled or answered.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.len() + usize::from(matches!(self.phase, Phase::Prefilling { .. }))
    }

    /// Requests in its queue.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Prompt tokens that it has yet to compute, as far as its cache tells now.
    #[must_use]
    pub fn pending_tokens(&self, trace: &Trace) -> u64 {
        let queued = self.queue.iter().map(|job| {
            let held = self.cache.held(trace.path(job.request as usize));
            job.input_tokens - hit_tokens(held, self.block_tokens, job.input_tokens)
        });
        let first = match self.phase {
            Phase::Prefilling { prefill, .. } => prefill.job.input_tokens - prefill.hit_tokens,
            Phase::Idle | Phase::Decoding { .. } => 0,
        };
        u64::from(first) + queued.map(u64::from).sum::<u64>()
    }

    /// Prompt tokens that it has computed since it began.
    #[must_use]
    pub fn computed_tokens(&self) -> u64 {
        self.computed_tokens
    }

    /// Share of its cache that running requests take, as engines report it.
    #[must_use]
    pub fn kv_use(&self) -> f64 {
        let prefilling = match self.phase {
            Phase::Prefilling { prefill, .. } => u64::from(prefill.job.input_tokens),
            Phase::Idle | Phase::Decoding { .. } => 0,
        };
        let used = (self.kv_tokens + prefilling) as f64 / self.cache_tokens.max(1) as f64;
        (used + self.pressed).min(1.0)
    }

    /// Tokens that its cache has room for.
    #[must_use]
    pub fn cache_tokens(&self) -> u64 {
        self.cache_tokens
    }

    fn capacity_tokens(&self) -> f64 {
        self.cache_tokens as f64 * (1.0 - self.pressed)
    }

    fn capacity_blocks(&self) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "not negative; `as` saturates"
        )]
        let blocks = (self.capacity_tokens() / f64::from(self.block_tokens)) as usize;
        blocks
    }

    /// Whether the job could begin now if no other is being prefilled.
    fn admits(&self, job: &Job) -> bool {
        let wanted = self.kv_tokens + u64::from(job.input_tokens) + u64::from(job.output_tokens);
        let few = self.running.len() < self.profile.max_running as usize;
        self.running.is_empty() || (few && wanted as f64 <= self.capacity_tokens())
    }

    /// Milliseconds of the next `steps` steps, in which every running request grows by a token each.
    fn steps_ms(&self, steps: u64) -> f64 {
        let running = u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        let (steps, tokens) = (steps as f64, self.kv_tokens as f64);
        let growth = f64::from(running) * steps * (steps - 1.0) / 2.0;
        steps * self.profile.step_ms(running, tokens) + self.profile.decode.kv_token_ms * growth
    }

    /// Steps until the first of the running requests is over.
    fn steps_to_next_end(&self) -> Option<u64> {
        let Reverse(next) = self.running.peek()?;
        Some(next.last_step.saturating_sub(self.steps))
    }

    fn stop(&mut self, at_ms: f64, trace: &Trace, happened: &mut Vec<Happened>) {
        match self.phase {
            Phase::Idle => {}
            Phase::Decoding { steps, .. } => {
                self.step(steps, at_ms, trace, happened);
                self.go_on(at_ms, trace);
            }
            Phase::Prefilling {
                prefill,
                since_chunk,
                steps,
                ..
            } => {
                self.step(steps, at_ms, trace, happened);
                let chunk = since_chunk + steps;
                if chunk < prefill.chunks {
                    self.prefill_on(prefill, chunk);
                } else {
                    self.prefilled(prefill, at_ms, trace, happened);
                    self.go_on(at_ms, trace);
                }
            }
        }
    }

    /// Makes so many decode steps and lets those go that are over.
    fn step(&mut self, steps: u64, at_ms: f64, trace: &Trace, happened: &mut Vec<Happened>) {
        self.steps += steps;
        self.kv_tokens += steps * self.running.len() as u64;
        while let Some(Reverse(done)) = self.running.peek().copied() {
            if done.last_step > self.steps {
                break;
            }
            self.running.pop();
            self.kv_tokens = self.kv_tokens.saturating_sub(done.held_tokens);
            self.cache
                .unpin(trace.path(done.request as usize), done.pinned);
            happened.push(Happened {
                at_ms,
                request: done.request,
                what: Milestone::Finished,
            });
        }
    }

    /// Begins the next prefill if there is one to begin, else decodes, else idles.
    fn go_on(&mut self, now_ms: f64, trace: &Trace) {
        self.phase = Phase::Idle;
        if self.queue.front().is_some_and(|job| self.admits(job))
            && let Some(job) = self.queue.pop_front()
        {
            self.prefill(now_ms, job, trace);
        } else if let Some(steps) = self.steps_to_next_end() {
            let stop_ms = now_ms + self.steps_ms(steps);
            self.phase = Phase::Decoding {
                since_ms: now_ms,
                stop_ms,
                steps,
            };
        }
    }

    fn prefill(&mut self, now_ms: f64, job: Job, trace: &Trace) {
        let pinned = self.cache.pin_held(trace.path(job.request as usize));
        let own = hit_tokens(pinned, self.block_tokens, job.input_tokens);
        let hit = job.granted_tokens.unwrap_or(own);
        let chunk = self.profile.prefill.chunk_tokens.max(1);
        let uncached = job.input_tokens.saturating_sub(hit).max(1);
        let prefill = Prefilling {
            job,
            began_ms: now_ms,
            lasts_ms: self.profile.prefill_ms(job.input_tokens, hit),
            chunks: u64::from(uncached.div_ceil(chunk)),
            hit_tokens: hit,
            pinned,
        };
        self.prefill_on(prefill, 0);
    }

    /// Goes on with a prefill until it is over or an answer ends on the way.
    fn prefill_on(&mut self, prefill: Prefilling, since_chunk: u64) {
        let left = prefill.chunks - since_chunk;
        let steps = self
            .steps_to_next_end()
            .map_or(left, |end| end.clamp(1, left));
        let share = (since_chunk + steps) as f64 / prefill.chunks as f64;
        let stop_ms = prefill.began_ms + prefill.lasts_ms * share;
        self.phase = Phase::Prefilling {
            prefill,
            since_chunk,
            stop_ms,
            steps,
        };
    }

    fn prefilled(
        &mut self,
        prefill: Prefilling,
        at_ms: f64,
        trace: &Trace,
        happened: &mut Vec<Happened>,
    ) {
        let Prefilling {
            job,
            hit_tokens,
            pinned,
            ..
        } = prefill;
        self.computed_tokens += u64::from(job.input_tokens.saturating_sub(hit_tokens));
        let path = trace.path(job.request as usize);
        let pinned = self.cache.pin_new(path, pinned);
        let what = Milestone::FirstToken { hit_tokens };
        happened.push(Happened {
            at_ms,
            request: job.request,
            what,
        });
        let more = u64::from(job.output_tokens.saturating_sub(1));
        self.kv_tokens += u64::from(job.input_tokens);
        self.running.push(Reverse(Running {
            last_step: self.steps + more,
            request: job.request,
            pinned,
            held_tokens: u64::from(job.input_tokens) + more,
        }));
        // An answer of one token is over with its first.
        self.step(0, at_ms, trace, happened);
    }
}

/// The least of `0..=most` for which it holds, if it holds from some number on; else `most`.
fn first_where(most: u64, holds: impl Fn(&u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(&middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests;
