//! Route echoes: what a client brings back of the last answer in the same thread of its conversation.
//!
//! A conversation may hold several threads, such as agents that one of them has begun: each has a
//! history of its own, and returns what its own last answer said. One that begins returns what the
//! thread said that it has most in common with, and how much that is.

use crate::trace::Trace;
use crate::view::Echo;

/// Which prompt each goes on from, and what has been answered.
#[derive(Debug, Default)]
pub(super) struct Threads {
    before: Vec<Option<Before>>,
    answers: Vec<Option<Echo>>,
}

/// The prompt before in the same thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Before {
    request: u32,
    /// Tokens that both begin with.
    shared_tokens: u32,
}

/// Threads of a conversation that are told apart.
const MOST_THREADS: usize = 8;
/// Prompts that have not been answered yet, one before the other, that are looked past.
const MOST_STEPS: usize = 16;

impl Threads {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut ends: Vec<Vec<u32>> = Vec::new();
        let mut before = Vec::with_capacity(trace.len());
        for (request, call) in (0..).zip(trace.calls()) {
            let session = call.session as usize;
            if ends.len() <= session {
                ends.resize_with(session + 1, Vec::new);
            }
            let Some(ends) = ends.get_mut(session) else {
                continue;
            };
            let found = closest(trace, request, ends);
            match found {
                Some(Closest {
                    place,
                    goes_on: true,
                    ..
                }) => drop(ends.remove(place)),
                _ if ends.len() >= MOST_THREADS => drop(ends.remove(0)),
                _ => {}
            }
            ends.push(request);
            before.push(found.map(|found| found.before));
        }
        Self {
            before,
            answers: vec![None; trace.len()],
        }
    }

    pub(super) fn answered(&mut self, request: usize, echo: Echo) {
        if let Some(answer) = self.answers.get_mut(request) {
            *answer = Some(echo);
        }
    }

    /// What the client brings with this request.
    pub(super) fn brought(&self, request: usize) -> Option<Echo> {
        let (mut at, mut shared_tokens) = (request, u32::MAX);
        for _ in 0..MOST_STEPS {
            let before = self.before.get(at).copied().flatten()?;
            at = before.request as usize;
            shared_tokens = shared_tokens.min(before.shared_tokens);
            if let Some(echo) = self.answers.get(at).copied().flatten() {
                let tokens = echo.tokens.min(shared_tokens);
                return Some(Echo { tokens, ..echo });
            }
        }
        None
    }
}

/// The last prompt of a thread that one has most in common with.
#[derive(Clone, Copy)]
struct Closest {
    /// Which of the threads.
    place: usize,
    before: Before,
    /// Whether it goes on with it: it has at least half of its own blocks in common.
    goes_on: bool,
}

fn closest(trace: &Trace, request: u32, ends: &[u32]) -> Option<Closest> {
    let path = trace.path(request as usize);
    let shared = |end: u32| {
        let pairs = path.iter().zip(trace.path(end as usize));
        // Equal nodes are equal prefixes: the first that differ end it.
        pairs.take_while(|(a, b)| a == b).count()
    };
    let of_ends = ends.iter().enumerate();
    let (place, end, blocks) = of_ends
        .map(|(place, end)| (place, *end, shared(*end)))
        .max_by_key(|(place, _, blocks)| (*blocks, *place))?;
    let whole = blocks == trace.path(end as usize).len();
    let shared_tokens = match whole {
        true => trace.calls().get(end as usize)?.input_tokens,
        false => u32::try_from(blocks)
            .ok()?
            .saturating_mul(trace.block_tokens()),
    };
    let before = Before {
        request: end,
        shared_tokens,
    };
    let goes_on = 2 * blocks >= path.len();
    (blocks > 0).then_some(Closest {
        place,
        before,
        goes_on,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Arrival, Call, Node};

    fn trace(prompts: &[&[u32]]) -> Trace {
        let mut trace = Trace::new(16);
        for (turn, path) in (0..).zip(prompts) {
            let call = Call {
                arrival: Arrival::AtMs(0.0),
                input_tokens: 16 * u32::try_from(path.len()).unwrap() + 5,
                output_tokens: 1,
                session: 0,
                turn,
            };
            trace.push(call, path.iter().copied().map(Node), []);
        }
        trace
    }

    #[test]
    fn each_thread_brings_back_its_own_last_answer() {
        // A conversation, one that it begins beside itself, a turn of each, and one turn changed.
        let prompts: [&[u32]; 5] = [
            &[0, 1, 2],
            &[0, 10, 11],
            &[0, 1, 2, 3],
            &[0, 10, 11, 12],
            &[0, 1, 2, 4],
        ];
        let mut threads = Threads::of(&trace(&prompts));
        let check = |threads: &Threads, request, expected: Option<(usize, u32)>| {
            let found = threads.brought(request);
            assert_eq!(found.map(|e| (e.worker, e.tokens)), expected, "{request}");
        };
        check(&threads, 2, None);
        for request in 0..3 {
            let echo = Echo {
                worker: request + 5,
                life: 1,
                tokens: 53,
            };
            threads.answered(request, echo);
        }
        check(&threads, 0, None);
        check(&threads, 1, Some((5, 16)));
        check(&threads, 2, Some((5, 53)));
        check(&threads, 3, Some((6, 53)));
        check(&threads, 4, Some((7, 48)));
    }

    #[test]
    fn an_answer_that_has_not_come_is_looked_past() {
        let prompts: [&[u32]; 3] = [&[0], &[0, 1], &[0, 1, 2]];
        let mut threads = Threads::of(&trace(&prompts));
        let echo = Echo {
            worker: 3,
            life: 1,
            tokens: 21,
        };
        threads.answered(0, echo);
        assert_eq!(threads.brought(2), Some(echo));
    }
}
