//! Policies that look at load alone: random, least requests, the better of two.
//!
//! Sources: `least_request` and `random` as in Envoy and nginx; "power of two choices" as in
//! M. Mitzenmacher's work of 1996, Envoy, and the routers of SGLang and vLLM. Load is a router's
//! own requests in flight. No constants.

use super::{Policy, Route, Verdict};
use crate::dice::Dice;
use crate::view::{Seat, View};

pub(super) struct Random(pub(super) Dice);

impl Policy for Random {
    fn route(&mut self, view: &View<'_>, _request: usize) -> Verdict {
        draw(&mut self.0, view)
            .map(|(worker, _)| Route::cold(worker, "drawn"))
            .into()
    }
}

pub(super) struct LeastRequests(pub(super) Dice);

impl Policy for LeastRequests {
    fn route(&mut self, view: &View<'_>, _request: usize) -> Verdict {
        least(&mut self.0, view)
            .map(|worker| Route::cold(worker, "least"))
            .into()
    }
}

pub(super) struct PowerOfTwo(pub(super) Dice);

impl Policy for PowerOfTwo {
    fn route(&mut self, view: &View<'_>, _request: usize) -> Verdict {
        better_of_two(&mut self.0, view)
            .map(|worker| Route::cold(worker, "better_of_two"))
            .into()
    }
}

/// The worker with the fewest requests; one of equals is drawn.
pub(super) fn least(dice: &mut Dice, view: &View<'_>) -> Option<usize> {
    let fewest = view.ready().map(|(_, seat)| seat.active()).min()?;
    let equals = || {
        view.ready()
            .filter(move |(_, seat)| seat.active() == fewest)
    };
    let drawn = dice.below(equals().count());
    equals().nth(drawn).map(|(worker, _)| worker)
}

/// Two are drawn, the one with fewer requests is taken.
pub(super) fn better_of_two(dice: &mut Dice, view: &View<'_>) -> Option<usize> {
    let (first, second) = (draw(dice, view)?, draw(dice, view)?);
    let better = if second.1.active() < first.1.active() {
        second
    } else {
        first
    };
    Some(better.0)
}

fn draw<'v>(dice: &mut Dice, view: &View<'v>) -> Option<(usize, &'v Seat)> {
    let drawn = dice.below(view.ready().count());
    view.ready().nth(drawn)
}
