//! Keeps requests from a worker that fails them, and finds out when it is well again.

use std::time::Duration;

use headwater_placement::At;

use crate::config_failure::BreakerConfig;

/// The breaker of one worker. Time comes in with each question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Breaker {
    state: State,
    /// Times in a row that it opened without a success between.
    opened: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    /// Gets nothing until then.
    Open { until: At },
    /// The next request that belongs here may try.
    Trial,
    /// One request is trying; after that time another one may.
    Trying { until: At },
}

/// What a request taught about its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Well,
    Failed,
    /// It had too much to do, or the client was at fault: neither good nor bad.
    Nothing,
}

impl Breaker {
    /// Whether requests may go there.
    pub(crate) fn lets_through(self) -> bool {
        matches!(self.state, State::Closed | State::Trial)
    }

    /// Whether a request is finding out how the worker is, or may.
    pub(crate) fn is_trying(self) -> bool {
        matches!(self.state, State::Trial | State::Trying { .. })
    }

    pub(crate) fn is_closed(self) -> bool {
        self.state == State::Closed
    }

    /// It failed too often: nothing goes there for a while, longer each time.
    pub(crate) fn open(&mut self, at: At, config: &BreakerConfig) {
        let doublings = self.opened.min(16);
        let ms = config.open_ms.saturating_mul(1 << doublings);
        let time = Duration::from_millis(ms.min(config.most_open_ms));
        self.opened = self.opened.saturating_add(1);
        self.state = State::Open {
            until: later(at, time),
        };
    }

    /// A request is sent there.
    pub(crate) fn sent(&mut self, at: At) {
        /// Long enough for a prefill; a slower answer still counts when it comes.
        const PATIENCE: Duration = Duration::from_secs(10);
        if self.state == State::Trial {
            self.state = State::Trying {
                until: later(at, PATIENCE),
            };
        }
    }

    /// A request came back.
    pub(crate) fn learn(&mut self, at: At, verdict: Verdict, config: &BreakerConfig) {
        match (self.state, verdict) {
            (State::Closed, _) => {}
            (_, Verdict::Well) => *self = Self::default(),
            (State::Open { .. }, _) => {}
            (State::Trial | State::Trying { .. }, Verdict::Failed) => self.open(at, config),
            (State::Trial | State::Trying { .. }, Verdict::Nothing) => self.state = State::Trial,
        }
    }

    /// Called now and then: after its time, a worker is tried again.
    pub(crate) fn tick(&mut self, at: At) {
        if let State::Open { until } | State::Trying { until } = self.state
            && at >= until
        {
            self.state = State::Trial;
        }
    }

    /// The name in `/state` and metrics.
    pub(crate) fn as_str(self) -> &'static str {
        match self.state {
            State::Closed => "closed",
            State::Open { .. } => "open",
            State::Trial | State::Trying { .. } => "half_open",
        }
    }
}

fn later(at: At, time: Duration) -> At {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    At::from_micros(at.micros().saturating_add(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> At {
        At::from_micros(ms * 1_000)
    }

    fn config() -> BreakerConfig {
        BreakerConfig {
            open_ms: 100,
            most_open_ms: 300,
            ..BreakerConfig::default()
        }
    }

    #[test]
    fn one_request_tries_a_worker_that_failed() {
        let mut breaker = Breaker::default();
        breaker.open(at(0), &config());
        breaker.tick(at(99));
        assert!(!breaker.lets_through());
        breaker.tick(at(100));
        assert!(breaker.lets_through());
        breaker.sent(at(101));
        assert!(!breaker.lets_through(), "one is enough");
        breaker.learn(at(102), Verdict::Nothing, &config());
        assert!(breaker.lets_through(), "429 says nothing of its health");
        breaker.sent(at(103));
        breaker.learn(at(104), Verdict::Well, &config());
        assert_eq!(breaker, Breaker::default());
    }

    #[test]
    fn each_failed_trial_makes_the_next_wait_longer_up_to_a_limit() {
        let mut breaker = Breaker::default();
        let mut now = 0;
        for wait in [100, 200, 300, 300] {
            breaker.open(at(now), &config());
            breaker.tick(at(now + wait - 1));
            assert!(!breaker.lets_through(), "{wait}");
            breaker.tick(at(now + wait));
            assert!(breaker.lets_through(), "{wait}");
            now += wait;
            breaker.sent(at(now));
        }
    }

    #[test]
    fn a_trial_that_never_ends_does_not_keep_the_worker_out() {
        let mut breaker = Breaker::default();
        breaker.open(at(0), &config());
        breaker.tick(at(100));
        breaker.sent(at(100));
        breaker.tick(at(10_099));
        assert!(!breaker.lets_through());
        breaker.tick(at(10_100));
        assert!(breaker.lets_through());
    }

    #[test]
    fn answers_of_earlier_requests_close_it_and_failures_change_nothing() {
        let mut breaker = Breaker::default();
        breaker.learn(at(0), Verdict::Failed, &config());
        assert!(breaker.is_closed());
        breaker.open(at(0), &config());
        let open = breaker;
        breaker.learn(at(1), Verdict::Failed, &config());
        assert_eq!(breaker, open);
        breaker.learn(at(2), Verdict::Well, &config());
        assert!(breaker.is_closed());
    }
}
