//! What other routers have sent to a worker, told by how late our own answers come.
//!
//! Where no report says what a worker has to do, a router knows a share of it. What it does not
//! know lies ahead of its requests all the same: an answer that comes ten seconds after our own
//! work there would have been done says that others had ten seconds of work there, and one that is
//! still missing says so before it comes.

use std::collections::VecDeque;

use crate::habit::Habit;
use crate::id::{At, RequestId};

/// What one worker's answers tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lateness {
    /// Requests without a first byte, oldest first, from the latest on that had one. Some have
    /// failed since.
    waits: VecDeque<Wait>,
    /// When the latest first byte came, and by how many milliseconds too late.
    came: At,
    by_ms: f64,
    /// Whether answers have their first byte as soon as the prompt is prefilled.
    streams: Habit,
}

/// A request that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) request: RequestId,
    /// Its flight's.
    pub(crate) number: u64,
    /// When its first byte comes if the worker has nothing to do but what we sent.
    pub(crate) due: At,
}

impl Lateness {
    pub(crate) fn sent(&mut self, wait: Wait) {
        self.waits.push_back(wait);
    }

    /// Forgets those that wait no longer: at once the first ones, others when they are many.
    pub(crate) fn settle(&mut self, waiting: u32, is_waiting: impl Fn(&Wait) -> bool) {
        while self.waits.front().is_some_and(|wait| !is_waiting(wait)) {
            self.waits.pop_front();
        }
        if self.waits.len() > 2 * waiting as usize + SPARE {
            self.waits.retain(is_waiting);
        }
    }

    /// A first byte came. Engines begin in the order of arrival, so those that were sent before and
    /// have none do not wait to be prefilled: they come in one piece, and say nothing.
    pub(crate) fn came(&mut self, at: At, number: u64) {
        let Some(place) = self.waits.iter().position(|wait| wait.number == number) else {
            return;
        };
        if let Some(wait) = self.waits.drain(..=place).next_back() {
            self.came = at;
            self.by_ms = in_ms(wait.due, at);
        }
    }

    pub(crate) fn ended(&mut self, streamed: bool) {
        self.streams.note(streamed);
    }

    /// Milliseconds of others' prefill that are expected there; nothing unless answers stream,
    /// since those that come in one piece have their first byte when all is written.
    pub(crate) fn ms(&self, at: At) -> f64 {
        if !self.streams.is_the_rule() {
            return 0.0;
        }
        let passed_ms = in_ms(self.came, at);
        let came_ms = self.by_ms * FADES_MS / (FADES_MS + passed_ms);
        // None is later than the oldest.
        let missing_ms = self.waits.front().map_or(0.0, |wait| in_ms(wait.due, at));
        SHARE * came_ms.max(missing_ms)
    }

    /// Whether [`Self::ms`] can be more than nothing.
    pub(crate) fn is_any(&self) -> bool {
        self.streams.is_the_rule() && (self.by_ms > 0.0 || !self.waits.is_empty())
    }
}

fn in_ms(from: At, to: At) -> f64 {
    to.since(from).as_secs_f64() * 1_000.0
}

/// How much of what lay ahead of an answer is expected to lie there now. All of it sends too many
/// away from a worker that has caught up meanwhile (simulated: three hundredths worse).
const SHARE: f64 = 0.5;

/// In which time half of that is forgotten, so that a worker nobody asks is asked again. 8 s to
/// 60 s are alike (simulated).
const FADES_MS: f64 = 20_000.0;

/// Entries beside twice those that wait, before the rest are looked for.
const SPARE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> At {
        At::from_micros(1_000 * ms)
    }

    fn sent(request: u64, due: u64) -> Wait {
        Wait {
            request: RequestId(request),
            number: request,
            due: at(due),
        }
    }

    fn streaming() -> Lateness {
        let mut late = Lateness::default();
        late.ended(true);
        late
    }

    #[test]
    fn half_of_how_late_an_answer_came_fades() {
        let mut late = streaming();
        late.sent(sent(1, 2_000));
        late.came(at(10_000), 1);
        let check = |now: u64, expected: f64| {
            let found = late.ms(at(now));
            assert!((found - expected).abs() < 1e-9, "{now}: {found}");
        };
        check(10_000, 4_000.0);
        check(30_000, 2_000.0);
        check(390_000, 200.0);
        let mut late = late.clone();
        late.sent(sent(2, 500_000));
        late.came(at(400_000), 2);
        assert!(!late.is_any(), "nobody is late who comes early");
        assert_eq!(late.ms(at(400_000)).to_bits(), 0_f64.to_bits());
    }

    #[test]
    fn an_answer_that_is_missing_is_late_before_it_comes() {
        let mut late = streaming();
        late.sent(sent(1, 1_000));
        late.sent(sent(2, 2_000));
        assert_eq!(late.ms(at(900)).to_bits(), 0_f64.to_bits());
        assert_eq!(late.ms(at(3_000)).to_bits(), 1_000_f64.to_bits());
        late.settle(1, |wait| wait.request != RequestId(1));
        assert_eq!(late.ms(at(3_000)).to_bits(), 500_f64.to_bits());
        late.settle(0, |_| false);
        assert!(!late.is_any());
    }

    #[test]
    fn answers_in_one_piece_say_nothing() {
        let mut late = Lateness::default();
        late.sent(sent(1, 0));
        assert!(!late.is_any(), "nothing has ended yet");
        late.ended(true);
        assert!(late.is_any());
        for _ in 0..5 {
            late.ended(false);
        }
        assert_eq!(late.ms(at(10_000)).to_bits(), 0_f64.to_bits());
    }

    #[test]
    fn one_that_others_have_overtaken_waits_for_something_else() {
        let mut late = streaming();
        late.sent(sent(1, 0));
        late.sent(sent(2, 50_000));
        assert_eq!(late.ms(at(50_000)).to_bits(), 25_000_f64.to_bits());
        late.came(at(50_000), 2);
        assert!(!late.is_any());
        late.came(at(90_000), 1);
        assert!(!late.is_any(), "nor does its end say anything");
    }

    #[test]
    fn those_behind_one_that_hangs_do_not_pile_up() {
        let mut late = Lateness::default();
        for request in 0..1_000 {
            late.sent(sent(request, request));
            late.settle(1, |wait| wait.request == RequestId(0));
        }
        assert!(late.waits.len() <= 2 + SPARE, "{}", late.waits.len());
    }
}
