//! When a first choice must not get a request, and who gets it instead.
//!
//! Both rules look at one worker at a time, never at the fleet as a whole: with everybody busy,
//! spreading requests would only make everybody cold as well.

use crate::settings::Settings;
use crate::survey::{Prospect, Survey};

/// A choice, and what led away from the worker that the prompt would have gone to at rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice<'w> {
    pub(crate) prospect: Prospect<'w>,
    pub(crate) spilled: Spilled,
}

/// What led away from the worker that holds most of the prompt or, if nobody holds any of it,
/// from the cheapest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spilled {
    No,
    /// It is hot and does not hold enough of the prompt.
    Hot,
    /// It is over its queue limit.
    Queue,
    /// It is within its limits, but waiting there would take longer than computing the rest here.
    Cost,
}

impl<'w> Choice<'w> {
    pub(crate) fn unspilled(prospect: Prospect<'w>) -> Self {
        let spilled = Spilled::No;
        Self { prospect, spilled }
    }
}

/// Milliseconds of prefill that relieve a full worker whatever they cost: with everybody waiting for
/// one hot prefix of some 3,000 tokens, all would wait for the one worker that has it, as each more
/// who waits makes a second copy dearer.
const QUICK_MS: f64 = 250.0;

/// Takes the cheapest that is not barred, or another one if that one is over its queue limit.
/// With every worker barred, none is.
pub(crate) fn choose<'w>(survey: &Survey<'w>, settings: &Settings) -> Option<Choice<'w>> {
    let all_barred = survey.is_everybody_barred();
    let open = || {
        survey
            .prospects()
            .filter(move |p| all_barred || !p.is_barred())
    };
    let best = survey.cheapest().or_else(|| cheapest(open()))?;
    let first = or_home(best, survey, open(), settings)?;
    let queue = Queue::of(survey, settings);
    let relief = match queue.is_over(&first) {
        true => {
            let most_ms = first.cost_ms + settings.spill_ms;
            let is_bounded = |p: &Prospect<'_>| {
                p.cost_ms <= most_ms || p.prefill_ms <= first.prefill_ms + QUICK_MS
            };
            let relieves = |p: &Prospect<'_>| queue.relieves(p, &first) && is_bounded(p);
            survey.preferred(open().filter(relieves))
        }
        false => None,
    };
    let prospect = relief.unwrap_or(first);
    if survey.drawn == Some(prospect.gauge.slot) {
        return Some(Choice::unspilled(prospect));
    }
    let wanted = match survey.fullest() {
        Some(fullest) => fullest,
        None if survey.barred > 0 => {
            let all = || survey.prospects();
            or_home(cheapest(all())?, survey, all(), settings)?
        }
        None => first,
    };
    Some(Choice {
        prospect,
        spilled: spilled(&wanted, &prospect, &queue),
    })
}

/// Why the request does not go where the prompt would have gone at rest.
fn spilled(wanted: &Prospect<'_>, chosen: &Prospect<'_>, queue: &Queue<'_>) -> Spilled {
    let same = chosen.gauge.slot == wanted.gauge.slot;
    let as_good = wanted.belief.tokens > 0 && chosen.belief.tokens >= wanted.belief.tokens;
    if same || as_good {
        Spilled::No
    } else if wanted.is_barred() {
        Spilled::Hot
    } else if queue.is_over(wanted) {
        Spilled::Queue
    } else {
        Spilled::Cost
    }
}

/// The baseline: fewest of our own requests for the weight, ties by turn.
pub(crate) fn fewest_requests<'w>(survey: &Survey<'w>) -> Option<Choice<'w>> {
    let queue = |p: &Prospect<'_>| f64::from(p.gauge.own) / p.gauge.weight;
    let fewest = survey
        .prospects()
        .min_by(|a, b| queue(a).total_cmp(&queue(b)));
    fewest.map(Choice::unspilled)
}

/// The least cost; the first of equals.
fn cheapest<'w>(open: impl Iterator<Item = Prospect<'w>>) -> Option<Prospect<'w>> {
    open.min_by(|a, b| a.cost_ms.total_cmp(&b.cost_ms))
}

/// The cheapest, unless the home of the key costs nearly as little and holds as much; among
/// exact ties the one that the key prefers.
fn or_home<'w>(
    best: Prospect<'w>,
    survey: &Survey<'w>,
    open: impl Iterator<Item = Prospect<'w>> + Clone,
    settings: &Settings,
) -> Option<Prospect<'w>> {
    let near_ms = best.cost_ms + settings.near_tie_ms;
    let near = |p: &Prospect<'_>| p.cost_ms <= near_ms && p.belief.tokens >= best.belief.tokens;
    let is_rival = |p: Prospect<'_>| near(&p) && p.gauge.slot != best.gauge.slot;
    let has_rivals = || match survey.barred {
        0 => survey.cheap(near_ms).any(is_rival),
        _ => open.clone().any(is_rival),
    };
    // Whoever is alone needs no order, and the order is the dearest part of a decision.
    if survey.key.is_none() || !has_rivals() {
        return Some(best);
    }
    let home = match survey.barred {
        0 => survey.home()?,
        _ => survey.preferred(open.clone())?,
    };
    if near(&home) {
        return Some(home);
    }
    survey.preferred(open.filter(|p| p.cost_ms <= best.cost_ms))
}

/// How long queues may be for one decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue<'s> {
    settings: &'s Settings,
    share: f64,
}

impl<'s> Queue<'s> {
    pub(crate) fn of(survey: &Survey<'_>, settings: &'s Settings) -> Self {
        let share = survey.share;
        Self { settings, share }
    }

    /// Whether a worker must be relieved of one more request: it is over its limit, and over its
    /// share as well.
    pub(crate) fn is_over(&self, prospect: &Prospect<'_>) -> bool {
        let share = self.share * prospect.bears;
        !self.has_room(prospect) && f64::from(prospect.in_flight) + 1.0 > share
    }

    /// Whether a worker can take what the first choice may not have: it stays within the limit
    /// and has clearly less to do. With everybody over the limit nobody can, so that affinity
    /// survives.
    pub(crate) fn relieves(&self, prospect: &Prospect<'_>, first: &Prospect<'_>) -> bool {
        let gap = first.queue() - prospect.queue();
        self.has_room(prospect) && gap >= f64::from(self.settings.spill_gap)
    }

    fn has_room(&self, prospect: &Prospect<'_>) -> bool {
        let limit = f64::from(self.settings.max_ongoing) * prospect.bears;
        f64::from(prospect.in_flight) + 1.0 <= limit
    }
}
