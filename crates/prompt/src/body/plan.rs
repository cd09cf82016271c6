//! Where markers go: at the ends of the stable parts and of the newest turn, and, where a provider
//! looks back a few blocks only, at places from which its search goes on.
//!
//! A provider finds what it stored at a marker of an earlier request if that place is at most
//! `lookback` blocks before a marker of this request. So markers behind the stable parts are laid
//! from the newest block backwards, a lookback apart. Where they do not reach the end of the
//! previous request, which is where the stored prefix ends, the last of them goes right there.

use std::collections::BTreeMap;

use super::{MarkerPlace, Omission};
use crate::Volatility;

/// A block, as far as markers are concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// In the prefix that ends with it.
    pub(super) tokens: u32,
    pub(super) volatility: Volatility,
    /// Whether it can carry a marker.
    pub(super) markable: bool,
}

/// What the provider allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// Markers in one body.
    pub(super) markers: Option<u32>,
    /// Blocks before a marker in which a stored prefix is found; `None` is no limit.
    pub(super) lookback: Option<u32>,
    /// Shorter prefixes are not cached.
    pub(super) minimum: Option<u32>,
    pub(super) newest: Newest,
}

/// Who marks the end of the newest turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newest {
    /// The body.
    Body,
    /// The provider itself, with one of its markers; but it finds only what is marked again.
    Provider,
}

/// Which blocks carry markers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) marks: BTreeMap<usize, MarkerPlace>,
    pub(super) omitted: Vec<(MarkerPlace, Omission)>,
    /// Blocks since the previous request, if its end cannot be found from any marker.
    pub(super) out_of_reach: Option<usize>,
}

/// Makes the plan. `previous` is the last block of the request before this one.
pub(super) fn plan(spots: &[Spot], previous: Option<usize>, allowance: Allowance) -> Plan {
    let leading = |most: Volatility| {
        let part = spots.iter().take_while(|spot| spot.volatility <= most);
        part.count()
    };
    let (static_end, stable_end) = (leading(Volatility::Static), leading(Volatility::SemiStatic));
    let mut desk = Desk {
        spots,
        allowance,
        left: allowance.markers.unwrap_or_default(),
        plan: Plan::default(),
    };
    // What is worth most comes first, in case there is little room.
    if allowance.newest == Newest::Body {
        desk.mark(MarkerPlace::Newest, stable_end, spots.len());
    } else {
        desk.left = desk.left.saturating_sub(1);
    }
    desk.mark(MarkerPlace::StaticEnd, 0, static_end);
    desk.mark(MarkerPlace::SemiStaticEnd, static_end, stable_end);
    let previous = previous
        .map(|last| last + 1)
        .filter(|end| *end > stable_end);
    match (allowance.newest, allowance.lookback) {
        (Newest::Provider, _) => {
            if let Some(end) = previous {
                desk.mark(MarkerPlace::PreviousRequest, stable_end, end);
            }
        }
        (Newest::Body, Some(lookback)) => desk.lay(stable_end, previous, lookback as usize),
        (Newest::Body, None) => {}
    }
    desk.plan
}

struct Desk<'a> {
    spots: &'a [Spot],
    allowance: Allowance,
    left: u32,
    plan: Plan,
}

impl Desk<'_> {
    /// Marks the last block of a part that can carry a marker, if the part has blocks.
    fn mark(&mut self, place: MarkerPlace, start: usize, end: usize) {
        if start >= end {
            return;
        }
        if let Err(why) = self.try_mark(place, start, end) {
            self.plan.omitted.push((place, why));
        }
    }

    fn try_mark(&mut self, place: MarkerPlace, start: usize, end: usize) -> Result<(), Omission> {
        let part = self.spots.get(start..end).unwrap_or_default();
        let Some(found) = part.iter().rposition(|spot| spot.markable) else {
            return Err(Omission::NoBlock);
        };
        let index = start + found;
        if let Some(why) = self.useless(index) {
            return Err(why);
        }
        let Some(markers) = self.allowance.markers else {
            return Err(Omission::UnknownRoom);
        };
        if self.left == 0 {
            return Err(Omission::NoRoom { markers });
        }
        self.left -= 1;
        self.plan.marks.insert(index, place);
        Ok(())
    }

    fn useless(&self, index: usize) -> Option<Omission> {
        let minimum = self.allowance.minimum?;
        let tokens = self.spots.get(index)?.tokens;
        (tokens < minimum).then_some(Omission::BelowMinimum { tokens, minimum })
    }

    /// Lays the markers that are left over the turns, from the newest back.
    fn lay(&mut self, stable_end: usize, previous: Option<usize>, lookback: usize) {
        let Some((newest, _)) = self.plan.marks.last_key_value() else {
            return;
        };
        let end = newest + 1;
        if end <= stable_end {
            return;
        }
        self.step_back(stable_end, end, lookback);
        if let Some(previous) = previous {
            self.reach(stable_end, previous, end, lookback);
        }
    }

    /// Makes sure that a search from some marker comes to where the previous request ended.
    fn reach(&mut self, stable_end: usize, previous: usize, end: usize, lookback: usize) {
        let turns = self.spots.get(stable_end..previous).unwrap_or_default();
        let Some(stored) = turns.iter().rposition(|spot| spot.markable) else {
            return;
        };
        let stored = stable_end + stored;
        let found = self.plan.marks.range(stored..=stored + lookback);
        if found.count() > 0 || self.useless(stored).is_some() {
            return;
        }
        if self.left == 0 {
            // The oldest of those laid is of least use.
            let mut marks = self.plan.marks.iter();
            let laid = marks.find(|(_, place)| **place == MarkerPlace::History);
            let laid = laid.map(|(index, _)| *index);
            if laid.is_some_and(|index| self.plan.marks.remove(&index).is_some()) {
                self.left += 1;
            }
        }
        let place = MarkerPlace::PreviousRequest;
        if self.try_mark(place, stable_end, previous).is_err() {
            self.plan.out_of_reach = Some(end - previous);
        }
    }

    /// From `end` back to `start`, a marker every `lookback` blocks.
    fn step_back(&mut self, start: usize, end: usize, lookback: usize) {
        let mut from = end;
        while self.left > 0 && from - start > lookback {
            let farthest = from - lookback - 1;
            let markable = |index: &usize| self.spots.get(*index).is_some_and(|spot| spot.markable);
            let within = (farthest..from - 1).find(markable);
            let Some(index) = within.or_else(|| (start..farthest).rev().find(markable)) else {
                return;
            };
            if self.useless(index).is_some() {
                return;
            }
            self.left -= 1;
            self.plan.marks.insert(index, MarkerPlace::History);
            from = index + 1;
        }
    }
}
