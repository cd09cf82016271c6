//! When a first choice must not get a request, and who gets it instead.
//!
//! Both rules look at one worker at a time, never at the fleet as a whole: with everybody busy,
//! spreading requests would only make everybody cold as well.

use crate::prospect::Prospect;
use crate::settings::Settings;

/// A choice, and what led away from the cheapest worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice<'p, 'w> {
    pub(crate) prospect: &'p Prospect<'w>,
    pub(crate) spilled: Spilled,
}

/// Which rule led away from the cheapest worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spilled {
    No,
    /// The cheapest is hot and does not hold the prompt.
    Hot,
    /// The cheapest is over its queue limit.
    Queue,
}

impl<'p, 'w> Choice<'p, 'w> {
    pub(crate) fn unspilled(prospect: &'p Prospect<'w>) -> Self {
        Self {
            prospect,
            spilled: Spilled::No,
        }
    }
}

/// Takes the cheapest of the prospects, which are in order of preference, unless a rule forbids.
pub(crate) fn choose<'p, 'w>(
    prospects: &'p [Prospect<'w>],
    settings: &Settings,
) -> Option<Choice<'p, 'w>> {
    let first = cheapest(prospects.iter(), settings)?;
    // A hot worker keeps what it holds and gets nothing else; if all are hot, heat says nothing.
    let all_barred = prospects.iter().all(Prospect::is_barred);
    let open = || {
        prospects
            .iter()
            .filter(move |p| all_barred || !p.is_barred())
    };
    let prospect = cheapest(open(), settings)?;
    let queue = Queue::of(prospects, settings);
    if queue.is_over(prospect)
        && let Some(relief) = open().find(|p| queue.relieves(p, prospect))
    {
        return Some(Choice {
            prospect: relief,
            spilled: Spilled::Queue,
        });
    }
    let stayed = prospect.worker.id == first.worker.id;
    Some(Choice {
        prospect,
        spilled: if stayed { Spilled::No } else { Spilled::Hot },
    })
}

/// The baseline: fewest of our own requests for the weight, ties by turn.
pub(crate) fn fewest_requests<'p, 'w>(prospects: &'p [Prospect<'w>]) -> Option<Choice<'p, 'w>> {
    let queue = |p: &Prospect<'_>| f64::from(p.worker.own.in_flight) / p.worker.weight;
    prospects
        .iter()
        .min_by(|a, b| queue(a).total_cmp(&queue(b)))
        .map(Choice::unspilled)
}

/// The least cost; among near ties the most preferred, if it holds as much.
fn cheapest<'p, 'w: 'p>(
    open: impl Iterator<Item = &'p Prospect<'w>>,
    settings: &Settings,
) -> Option<&'p Prospect<'w>> {
    let mut open = open.peekable();
    let home = *open.peek()?;
    let best = open.min_by(|a, b| a.cost_ms.total_cmp(&b.cost_ms))?;
    let near = home.cost_ms <= best.cost_ms + settings.near_tie_ms;
    let goes_home = home.preferred() && near && home.belief.tokens >= best.belief.tokens;
    Some(if goes_home { home } else { best })
}

/// How long queues may be for one decision.
#[derive(Clone, Copy, Debug)]
struct Queue<'s> {
    settings: &'s Settings,
    /// Requests for each unit of weight, the new one included, above which a worker has more
    /// than its share.
    share: f64,
}

impl<'s> Queue<'s> {
    fn of(prospects: &[Prospect<'_>], settings: &'s Settings) -> Self {
        let requests: f64 = prospects.iter().map(|p| f64::from(p.in_flight)).sum();
        let weights: f64 = prospects.iter().map(|p| p.worker.weight).sum();
        Self {
            settings,
            share: settings.fair_share_factor * (requests + 1.0) / weights,
        }
    }

    /// Whether a worker must be relieved of one more request: it is over its limit, and over its
    /// share as well.
    fn is_over(&self, prospect: &Prospect<'_>) -> bool {
        let share = self.share * prospect.worker.weight;
        !self.has_room(prospect) && f64::from(prospect.in_flight) + 1.0 > share
    }

    /// Whether a worker can take what the first choice may not have: it stays within the limit
    /// and has clearly less to do. With everybody over the limit nobody can, so that affinity
    /// survives.
    fn relieves(&self, prospect: &Prospect<'_>, first: &Prospect<'_>) -> bool {
        let gap = first.queue() - prospect.queue();
        self.has_room(prospect) && gap >= f64::from(self.settings.spill_gap)
    }

    fn has_room(&self, prospect: &Prospect<'_>) -> bool {
        let limit = f64::from(self.settings.max_ongoing) * prospect.worker.weight;
        f64::from(prospect.in_flight) + 1.0 <= limit
    }
}
