//! The last quarter of an hour as a few totals every two seconds, for the status page.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::engines::Signal;
use crate::roster::Roster;
use crate::shared::Shared;

/// How often a point is taken.
pub(crate) const INTERVAL: Duration = Duration::from_secs(2);

/// A quarter of an hour of them.
const POINTS: usize = 450;

/// Totals since the start at one moment; a page draws their differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Point {
    /// Seconds since the start.
    pub(crate) t: f64,
    pub(crate) requests: u64,
    pub(crate) prompt_tokens: u64,
    pub(crate) matched_tokens: u64,
    /// Prompt tokens that the engines say they looked up, and those that they found. These go
    /// back when an engine restarts.
    pub(crate) queried_tokens: f64,
    pub(crate) hit_tokens: f64,
    pub(crate) in_flight: u32,
}

impl Point {
    pub(crate) fn now(shared: &Shared) -> Self {
        let counters = &shared.counters;
        let mut point = Self {
            t: shared.uptime_seconds(),
            requests: counters.requests.get(),
            prompt_tokens: counters.prompt_tokens.get(),
            matched_tokens: counters.matched_tokens.get(),
            ..Self::default()
        };
        for pool in shared.pools() {
            point.add(&pool.roster());
        }
        point
    }

    fn add(&mut self, roster: &Roster) {
        for (member, view) in roster.views() {
            self.in_flight = self.in_flight.saturating_add(view.in_flight);
            if let Some(scrape) = &member.scrape {
                let value = |signal| scrape.reading.value(signal).unwrap_or(0.0);
                self.queried_tokens += value(Signal::PrefixQueries);
                self.hit_tokens += value(Signal::PrefixHits);
            }
        }
    }
}

/// The points, oldest first.
#[derive(Default)]
pub(crate) struct History(Mutex<VecDeque<Point>>);

impl History {
    pub(crate) fn add(&self, point: Point) {
        let mut points = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if points.len() == POINTS {
            points.pop_front();
        }
        points.push_back(point);
    }

    pub(crate) fn points(&self) -> Vec<Point> {
        let points = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        points.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_point_makes_room() {
        let history = History::default();
        for number in 0..POINTS as u64 + 10 {
            history.add(Point {
                requests: number,
                ..Point::default()
            });
        }
        let points = history.points();
        assert_eq!((points.len(), points[0].requests), (POINTS, 10));
    }
}
