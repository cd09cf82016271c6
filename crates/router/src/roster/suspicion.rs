//! Workers that fail requests or have enough of them: kept out, tried, left alone for a while.

use std::sync::Arc;
use std::time::Duration;

use headwater_placement::At;

use super::Roster;
use crate::breaker::Verdict;
use crate::config_failure::BreakerConfig;
use crate::endpoint::Endpoint;
use crate::member::{BreakerChange, Health, Member, Service};

/// How often it is told of a worker that it stays in for want of others: each failed request of
/// it finds that anew.
const TOLD_EVERY_MICROS: u64 = 60_000_000;

impl Roster {
    /// Lets a breaker learn from a request; gives what changed.
    pub(crate) fn learn(
        &mut self,
        at: At,
        endpoint: &Endpoint,
        verdict: Verdict,
        config: &BreakerConfig,
    ) -> Option<BreakerChange> {
        let may_open = self.may_open(config.floor);
        let mut change = None;
        self.change(at, endpoint, |member| {
            let before = member.breaker;
            if before.is_closed() && verdict == Verdict::Failed {
                if may_open {
                    member.breaker.open(at, config);
                    change = Some(BreakerChange::Opened);
                } else {
                    change = Some(kept(at, member));
                }
            } else {
                member.breaker.learn(at, verdict, config);
                change = (member.breaker.is_closed() && !before.is_closed())
                    .then_some(BreakerChange::Closed)
                    .or_else(|| {
                        let reopened = before.is_trying() && !member.breaker.is_trying();
                        (reopened && verdict == Verdict::Failed).then_some(BreakerChange::Opened)
                    });
            }
            member.endpoint.suspect(!member.breaker.is_closed());
            true
        });
        change
    }

    /// Whether one more worker can be done without: outliers are kept out, but when most fail
    /// the fault lies elsewhere, and keeping all of them out would help nobody.
    fn may_open(&self, floor: f64) -> bool {
        let healthy = |m: &&Member| m.service == Service::In && m.health == Health::Up;
        let all = self.members.values().filter(healthy).count();
        let closed = |m: &&Member| healthy(m) && m.breaker.is_closed();
        let left = self
            .members
            .values()
            .filter(closed)
            .count()
            .saturating_sub(1);
        #[expect(clippy::cast_precision_loss, reason = "a number of workers")]
        let least = (all as f64 * floor).max(1.0);
        #[expect(clippy::cast_precision_loss, reason = "a number of workers")]
        let left = left as f64;
        left >= least
    }

    /// Prefers others to a worker for a while.
    pub(crate) fn press(&mut self, at: At, endpoint: &Endpoint, time: Duration) {
        self.change(at, endpoint, |member| {
            let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
            let until = at.micros().saturating_add(micros);
            member.pressed_until = Some(At::from_micros(until));
            true
        });
    }

    /// Lets the next request try each worker whose breaker has been open for long enough, and
    /// ends what was said for a while; gives whether there is more to come back for.
    pub(crate) fn try_suspects(&mut self, at: At) -> bool {
        let suspected = |m: &&Member| !m.breaker.is_closed() || m.pressed_until.is_some();
        let suspects: Vec<Arc<Endpoint>> = self
            .members
            .values()
            .filter(suspected)
            .map(|m| Arc::clone(&m.endpoint))
            .collect();
        for endpoint in &suspects {
            self.change(at, endpoint, |member| {
                member.breaker.tick(at);
                if member.pressed_until.is_some_and(|until| at >= until) {
                    member.pressed_until = None;
                    member.endpoint.press(false);
                }
                true
            });
        }
        !suspects.is_empty()
    }
}

fn kept(at: At, member: &mut Member) -> BreakerChange {
    let since = |told: At| at.micros().saturating_sub(told.micros());
    let lately = |told: At| since(told) < TOLD_EVERY_MICROS;
    if member.kept_told_at.is_some_and(lately) {
        return BreakerChange::StillKept;
    }
    member.kept_told_at = Some(at);
    BreakerChange::KeptByFloor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::model_pool::PoolId;
    use crate::shared::Shared;

    #[test]
    fn a_worker_that_is_kept_for_want_of_others_is_told_of_once_a_minute() {
        let yaml = "{listen: '127.0.0.1:0', workers: ['http://a:1']}";
        let shared = Shared::new(Config::parse(yaml, "test").unwrap()).unwrap();
        let mut roster = shared.roster(PoolId(0));
        let endpoint = Arc::clone(&roster.endpoints()[0]);
        let mut check = |seconds: u64, expected: BreakerChange| {
            let at = At::from_micros(seconds * 1_000_000);
            let change = roster.learn(at, &endpoint, Verdict::Failed, &shared.config.breaker);
            assert!(change == Some(expected), "after {seconds} s");
        };
        check(1, BreakerChange::KeptByFloor);
        check(1, BreakerChange::StillKept);
        check(60, BreakerChange::StillKept);
        check(61, BreakerChange::KeptByFloor);
        check(62, BreakerChange::StillKept);
    }
}
