//! A trace made to fit a fleet: more users for more workers, time stretched for the rest.

use crate::dice::Dice;
use crate::profile::Profile;
use crate::trace::{Arrival, Call, Node, Trace};

/// How much work a trace should be for a fleet.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "callers name all of it")]
pub struct Load {
    /// Workers of the fleet.
    pub workers: usize,
    /// Share of their time that the trace takes if every request hits all that an endless cache
    /// would hold; above 0. A policy that misses more has more to do than this.
    pub share: f64,
    /// The most requests that are kept, in order of time.
    pub most_requests: usize,
    /// Where in the trace its copies begin: 1 is as recorded, any other number somewhere else.
    pub seed: u64,
}

/// The most copies of a trace that run beside each other.
const MOST_COPIES: usize = 24;
/// Share of the requests that have a prefix for it to be everybody's, such as a system prompt.
const HOT_SHARE: f64 = 0.01;

/// The trace under a load.
///
/// So many copies of it as come nearest to the load run beside each other, each begun at another
/// point of it and with prefixes of its own; what one request in a hundred or more has in common
/// stays common to all copies. The times are then stretched to meet the load. A trace in which
/// requests wait for each other is only cut: its users make the load.
#[must_use]
pub fn scale(trace: &Trace, profile: &Profile, load: Load) -> Trace {
    let waits = |call: &Call| matches!(call.arrival, Arrival::After { .. });
    if trace.is_empty() || trace.calls().iter().any(waits) {
        return trace.first(load.most_requests);
    }
    let wanted = wanted_rate(trace, profile, load);
    let copies = nearest(wanted);
    let span_ms = trace.span_ms().max(1.0);
    let stretch = copies as f64 / wanted;
    let places = arrivals(trace, copies, span_ms, load);
    let renamed = Renamed::of(trace);
    let sessions = trace
        .calls()
        .iter()
        .map(|c| c.session + 1)
        .max()
        .unwrap_or(0);
    let mut scaled = Trace::new(trace.block_tokens());
    for Place {
        at_ms,
        copy,
        request,
    } in places
    {
        let Some(call) = trace.calls().get(request) else {
            continue;
        };
        let call = Call {
            arrival: Arrival::AtMs(at_ms * stretch),
            session: call.session.saturating_add(copy.saturating_mul(sessions)),
            ..call.clone()
        };
        let path = trace
            .path(request)
            .iter()
            .map(|node| renamed.node(*node, copy));
        scaled.push(call, path, trace.borders(request).iter().copied());
    }
    scaled
}

/// How often the trace's own rate of arrivals must come to make the load.
fn wanted_rate(trace: &Trace, profile: &Profile, load: Load) -> f64 {
    let hits = trace.ideal_hits();
    let work_ms: f64 = trace
        .calls()
        .iter()
        .zip(hits)
        .map(|(call, hit)| profile.work_ms(call, hit))
        .sum();
    let capacity_ms = trace.span_ms().max(1.0) * load.workers.max(1) as f64;
    (load.share * capacity_ms / work_ms).clamp(1e-6, 1e6)
}

fn nearest(wanted: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the next call")]
    let rounded = wanted.round() as usize;
    rounded.clamp(1, MOST_COPIES)
}

struct Place {
    at_ms: f64,
    copy: u32,
    request: usize,
}

/// The earliest arrivals of all copies, in order of time.
fn arrivals(trace: &Trace, copies: usize, span_ms: f64, load: Load) -> Vec<Place> {
    let mut places = Vec::with_capacity(trace.len() * copies);
    let mut dice = Dice::new(load.seed);
    for copy in 0..copies {
        let drawn = if load.seed == 1 { 0.0 } else { dice.share() };
        let shift = span_ms * (copy as f64 + drawn) / copies as f64;
        let number = u32::try_from(copy).unwrap_or(u32::MAX);
        for (request, call) in trace.calls().iter().enumerate() {
            if let Arrival::AtMs(at) = call.arrival {
                // What is shifted over the end goes on at the beginning: the rate stays level.
                let at_ms = if at + shift > span_ms {
                    at + shift - span_ms
                } else {
                    at + shift
                };
                places.push(Place {
                    at_ms,
                    copy: number,
                    request,
                });
            }
        }
    }
    places.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    places.truncate(load.most_requests);
    places
}

/// Which nodes keep their name in every copy.
struct Renamed {
    hot: Vec<bool>,
}

impl Renamed {
    fn of(trace: &Trace) -> Self {
        let mut uses = vec![0_u32; trace.node_count()];
        for request in 0..trace.len() {
            for node in trace.path(request) {
                if let Some(count) = uses.get_mut(node.index()) {
                    *count += 1;
                }
            }
        }
        let enough = (trace.len() as f64 * HOT_SHARE).max(2.0);
        Self {
            hot: uses
                .iter()
                .map(|count| f64::from(*count) >= enough)
                .collect(),
        }
    }

    fn node(&self, node: Node, copy: u32) -> Node {
        if self.hot.get(node.index()) == Some(&true) {
            return node;
        }
        let all = u32::try_from(self.hot.len()).unwrap_or(u32::MAX);
        Node(node.0.saturating_add(copy.saturating_mul(all)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Trace {
        let mut trace = Trace::new(64);
        for at in 0..200_u32 {
            let call = Call {
                arrival: Arrival::AtMs(f64::from(at) * 1_000.0),
                input_tokens: 192,
                output_tokens: 20,
                session: at,
                turn: 0,
            };
            trace.push(call, [0, 1 + 2 * at, 2 + 2 * at].map(Node), [1]);
        }
        trace
    }

    #[test]
    fn the_scaled_trace_is_as_much_work_as_wanted() {
        let (trace, profile) = (trace(), Profile::built_in("large").unwrap());
        for (workers, share) in [(1, 0.01), (4, 0.35), (32, 0.6)] {
            let scaled = scale(
                &trace,
                &profile,
                Load {
                    workers,
                    share,
                    most_requests: 1_000_000,
                    seed: 1,
                },
            );
            let rate = wanted_rate(
                &scaled,
                &profile,
                Load {
                    workers,
                    share,
                    most_requests: 1,
                    seed: 1,
                },
            );
            assert!((rate - 1.0).abs() < 0.02, "{workers} {share}: {rate}");
            assert!(
                scaled
                    .calls()
                    .is_sorted_by(|a, b| match (a.arrival, b.arrival) {
                        (Arrival::AtMs(a), Arrival::AtMs(b)) => a <= b,
                        _ => false,
                    })
            );
        }
    }

    #[test]
    fn copies_share_the_system_prompt_and_nothing_else() {
        let (trace, profile) = (trace(), Profile::built_in("large").unwrap());
        let load = Load {
            workers: 32,
            share: 0.6,
            most_requests: 900,
            seed: 1,
        };
        let scaled = scale(&trace, &profile, load);
        assert_eq!(scaled.len(), 900);
        let mut leaves: Vec<Node> = (0..scaled.len()).map(|r| scaled.path(r)[2]).collect();
        assert!((0..scaled.len()).all(|r| scaled.path(r)[0] == Node(0)));
        leaves.sort();
        leaves.dedup();
        assert_eq!(leaves.len(), 900);
    }

    #[test]
    fn another_seed_is_the_same_work_from_another_moment_on() {
        let (trace, profile) = (trace(), Profile::built_in("large").unwrap());
        let scaled = |seed| {
            let load = Load {
                workers: 4,
                share: 0.01,
                most_requests: 1_000,
                seed,
            };
            scale(&trace, &profile, load)
        };
        let first = |trace: &Trace| trace.path(0)[2];
        assert_eq!(first(&scaled(1)), first(&trace), "as recorded");
        assert_ne!(first(&scaled(2)), first(&trace));
        let work = |trace: &Trace| {
            trace
                .ideal_hits()
                .iter()
                .map(|h| u64::from(*h))
                .sum::<u64>()
        };
        assert_eq!(
            (scaled(1).len(), work(&scaled(1))),
            (scaled(2).len(), work(&scaled(2)))
        );
    }
}
