//! What holds after any events in any order.

use std::sync::LazyLock;

use headwater_placement::{
    At, Event, Fleet, Generation, NoWorker, Order, Policy, PrefixName, Report, Request, RequestId,
    Settings, WorkerId, WorkerState,
};
use proptest::prelude::*;

use crate::world::{keyed, named, signed};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const REQUESTS: u64 = 6;

fn id(worker: usize) -> WorkerId {
    static IDS: LazyLock<[WorkerId; 4]> = LazyLock::new(|| NAMES.map(WorkerId::of));
    IDS[worker]
}

/// An event that owns what it speaks of.
#[derive(Clone, Debug)]
enum Told {
    Joined(usize, f64),
    Left(usize),
    State(usize, WorkerState),
    Generation(usize, u64),
    Held(usize, u64, Asked),
    Abandoned(u64),
    Dispatched(usize, u64, Asked),
    Cached(usize, u64, u32),
    Stored(usize, u64),
    Removed(usize, u64),
    Cleared(usize),
    FirstByte(usize, u64),
    Finished(usize, u64),
    Failed(usize, u64),
    Reported(usize, Report),
}

/// A request: text, tokens, key.
#[derive(Clone, Copy, Debug)]
struct Asked {
    text: u64,
    tokens: u32,
    key: Option<u64>,
}

fn asked() -> impl Strategy<Value = Asked> {
    let tokens = prop_oneof![Just(0), 1_u32..40, 100_u32..60_000, Just(u32::MAX)];
    (0_u64..5, tokens, prop::option::of(0_u64..4)).prop_map(|(text, tokens, key)| Asked {
        text,
        tokens,
        key,
    })
}

fn told() -> impl Strategy<Value = Told> {
    use WorkerState::{Down, Draining, Ready, Starting};
    let worker = 0..NAMES.len();
    let of_request = (worker.clone(), 0..REQUESTS);
    let number = || prop::option::of(prop_oneof![0_u32..50, Just(u32::MAX)]);
    let kv = prop::option::of(prop_oneof![-0.5_f64..1.5, Just(f64::NAN)]);
    let tokens = || prop::option::of(prop_oneof![0_u64..200_000, Just(u64::MAX)]);
    let report = (number(), number(), kv, tokens(), tokens(), tokens()).prop_map(
        |(running, waiting, kv_use, cache_tokens, pending_tokens, computed_tokens)| Report {
            running,
            waiting,
            pending_tokens,
            computed_tokens,
            kv_use,
            cache_tokens,
        },
    );
    prop_oneof![
        3 => (worker.clone(), -1.0_f64..4.0).prop_map(|(w, weight)| Told::Joined(w, weight)),
        1 => worker.clone().prop_map(Told::Left),
        4 => (worker.clone(), prop::sample::select(vec![Starting, Ready, Ready, Draining, Down]))
            .prop_map(|(w, s)| Told::State(w, s)),
        1 => (worker.clone(), 0_u64..3).prop_map(|(w, g)| Told::Generation(w, g)),
        8 => (of_request.clone(), asked()).prop_map(|((w, r), a)| Told::Dispatched(w, r, a)),
        6 => (of_request.clone(), asked()).prop_map(|((w, r), a)| Told::Held(w, r, a)),
        1 => (0..REQUESTS).prop_map(Told::Abandoned),
        1 => (of_request.clone(), 0_u32..50_000).prop_map(|((w, r), t)| Told::Cached(w, r, t)),
        1 => (worker.clone(), 0_u64..5).prop_map(|(w, text)| Told::Stored(w, text)),
        1 => (worker.clone(), 0_u64..5).prop_map(|(w, text)| Told::Removed(w, text)),
        1 => worker.clone().prop_map(Told::Cleared),
        3 => of_request.clone().prop_map(|(w, r)| Told::FirstByte(w, r)),
        3 => of_request.clone().prop_map(|(w, r)| Told::Finished(w, r)),
        2 => of_request.prop_map(|(w, r)| Told::Failed(w, r)),
        3 => (worker, report).prop_map(|(w, r)| Told::Reported(w, r)),
    ]
}

fn with_request<T>(asked: Asked, use_it: impl FnOnce(&Request<'_>) -> T) -> T {
    let Asked { text, tokens, key } = asked;
    let last = if tokens == 0 { 40 } else { tokens / 16 };
    let mut blocks = vec![2, 8, last];
    blocks.retain(|b| (1..=last).contains(b));
    blocks.sort_unstable();
    blocks.dedup();
    let signature = named(text, tokens, &blocks);
    match key {
        Some(key) if text == 0 => use_it(&keyed(key)),
        Some(key) => use_it(&signed(&signature, key)),
        None => use_it(&Request {
            signature: Some(&signature),
            ..Request::ANONYMOUS
        }),
    }
}

/// The second block of a text, as its requests name it.
fn prefix(text: u64) -> PrefixName {
    let signature = named(text, 1_000, &[2]);
    PrefixName {
        fingerprint: signature.fingerprint(),
        hash: signature.rungs()[0].hash,
    }
}

fn tell(fleet: &mut Fleet, at: At, told: &Told) {
    match told {
        Told::Joined(w, weight) => {
            let (worker, name, weight) = (id(*w), NAMES[*w], *weight);
            fleet.observe(
                at,
                &Event::Joined {
                    worker,
                    name,
                    weight,
                },
            );
        }
        Told::Left(w) => fleet.observe(at, &Event::Left { worker: id(*w) }),
        Told::State(w, s) => fleet.observe(
            at,
            &Event::State {
                worker: id(*w),
                state: *s,
            },
        ),
        Told::Generation(w, g) => {
            fleet.observe(
                at,
                &Event::Generation {
                    worker: id(*w),
                    generation: Generation::started(*g),
                },
            );
        }
        Told::Dispatched(w, r, asked) => with_request(*asked, |of| {
            let (worker, request) = (id(*w), RequestId(*r));
            fleet.observe(
                at,
                &Event::Dispatched {
                    worker,
                    request,
                    of,
                },
            );
        }),
        Told::Held(w, r, asked) => with_request(*asked, |of| {
            let (worker, request) = (id(*w), RequestId(*r));
            fleet.observe(
                at,
                &Event::Held {
                    worker,
                    request,
                    of,
                },
            );
        }),
        Told::Abandoned(r) => fleet.observe(
            at,
            &Event::Abandoned {
                request: RequestId(*r),
            },
        ),
        Told::Cached(w, r, tokens) => fleet.observe(
            at,
            &Event::Cached {
                worker: id(*w),
                request: RequestId(*r),
                tokens: *tokens,
            },
        ),
        Told::Stored(w, text) => {
            let prefixes = [prefix(*text)];
            fleet.observe(
                at,
                &Event::Stored {
                    worker: id(*w),
                    prefixes: &prefixes,
                },
            );
        }
        Told::Removed(w, text) => {
            let prefixes = [prefix(*text)];
            fleet.observe(
                at,
                &Event::Removed {
                    worker: id(*w),
                    prefixes: &prefixes,
                },
            );
        }
        Told::Cleared(w) => fleet.observe(at, &Event::Cleared { worker: id(*w) }),
        Told::FirstByte(w, r) => {
            fleet.observe(
                at,
                &Event::FirstByte {
                    worker: id(*w),
                    request: RequestId(*r),
                },
            );
        }
        Told::Finished(w, r) => {
            fleet.observe(
                at,
                &Event::Finished {
                    worker: id(*w),
                    request: RequestId(*r),
                },
            );
        }
        Told::Failed(w, r) => {
            fleet.observe(
                at,
                &Event::Failed {
                    worker: id(*w),
                    request: RequestId(*r),
                },
            );
        }
        Told::Reported(w, report) => {
            fleet.observe(
                at,
                &Event::Reported {
                    worker: id(*w),
                    report: *report,
                },
            );
        }
    }
}

fn settings() -> impl Strategy<Value = Settings> {
    let policy = prop::sample::select(Policy::ALL.to_vec());
    let hard_cap = prop::option::of(2_u32..5);
    let order = prop::sample::select(Order::ALL.to_vec());
    (policy, hard_cap, order, 1_u32..3).prop_map(|(policy, hard_cap, order, routers)| Settings {
        policy,
        hard_cap,
        order,
        routers,
        max_ongoing: 2,
        residency_per_worker: 3,
        ..Settings::default()
    })
}

fn replay(settings: &Settings, story: &[(u64, Told)]) -> (Fleet, At) {
    let mut fleet = Fleet::new(settings.clone()).unwrap();
    let mut at = At::default();
    for (micros, told) in story {
        at = At::from_micros(*micros);
        tell(&mut fleet, at, told);
    }
    (fleet, at)
}

fn story() -> impl Strategy<Value = Vec<(u64, Told)>> {
    prop::collection::vec((0_u64..10_000_000, told()), 0..80)
}

proptest! {
    // Each case is a story of up to 80 events.
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_decision_names_only_workers_that_may_get_it(
        settings in settings(),
        story in story(),
        asked in asked(),
        tried in prop::sample::subsequence(NAMES.to_vec(), 0..3),
    ) {
        let (fleet, at) = replay(&settings, &story);
        let excluded: Vec<_> = tried.iter().map(|name| WorkerId::of(name)).collect();
        let (decision, order) = with_request(asked, |r| {
            let request = Request { excluded: &excluded, ..*r };
            (fleet.place(at, &request), fleet.candidates(at, &request))
        });
        let view = |id| fleet.worker(id).unwrap();
        let state = |id: WorkerId| view(id).state;
        let untried = |s| fleet.workers().any(|w| w.state == s && !excluded.contains(&w.id));
        match decision {
            Ok(decision) => {
                let wanted =
                    if untried(WorkerState::Ready) { WorkerState::Ready } else { WorkerState::Starting };
                prop_assert!(order.contains(&decision.worker));
                let mut once = order.clone();
                once.sort();
                once.dedup();
                prop_assert_eq!(once.len(), order.len());
                for id in &order {
                    prop_assert_eq!(state(*id), wanted);
                    prop_assert!(!excluded.contains(id));
                }
                prop_assert!(decision.expected_ms.is_finite() && decision.expected_ms > 0.0);
                prop_assert!(asked.tokens == 0 || decision.matched_tokens < asked.tokens);
            }
            Err(NoWorker::Full) => prop_assert!(settings.hard_cap.is_some()),
            Err(_) => {
                prop_assert!(!untried(WorkerState::Ready) && !untried(WorkerState::Starting));
            }
        }
    }

    #[test]
    fn the_same_story_gives_the_same_decision(
        settings in settings(),
        story in story(),
        asked in asked(),
    ) {
        let place = || {
            let (fleet, at) = replay(&settings, &story);
            let first = with_request(asked, |r| fleet.place(at, r));
            // Choosing changes nothing.
            prop_assert_eq!(&first, &with_request(asked, |r| fleet.place(at, r)));
            Ok((first, fleet.workers().collect::<Vec<_>>()))
        };
        prop_assert_eq!(place()?, place()?);
    }

    #[test]
    fn counters_end_at_zero_and_the_table_stays_bounded(
        settings in settings(),
        story in story(),
    ) {
        let (mut fleet, _) = replay(&settings, &story);
        // A story's times go to and fro, and a report of an earlier one may be stale by now.
        let at = At::from_micros(story.iter().map(|(micros, _)| *micros).max().unwrap_or(0));
        let workers: Vec<_> = fleet.workers().collect();
        prop_assert!(fleet.residency_len() <= 3 * workers.len());
        let places: usize = workers.iter().map(|w| w.residency).sum();
        prop_assert!(workers.iter().all(|w| w.residency <= 3));
        prop_assert!(places >= fleet.residency_len(), "no name without a holder");
        for worker in 0..NAMES.len() {
            (0..REQUESTS).for_each(|r| tell(&mut fleet, at, &Told::Finished(worker, r)));
            (0..REQUESTS).for_each(|r| tell(&mut fleet, at, &Told::Abandoned(r)));
            tell(&mut fleet, at, &Told::Reported(worker, Report { running: Some(0), ..Report::default() }));
        }
        for worker in fleet.workers() {
            let counts = (worker.in_flight, worker.waiting, worker.held, worker.uncached_tokens);
            prop_assert_eq!(counts, (0, 0, 0, 0));
            prop_assert_eq!(worker.pending_ms, 0.0);
        }
    }

    #[test]
    fn a_failed_dispatch_leaves_no_belief_behind(
        settings in settings(),
        mut story in story(),
        asked in asked(),
        worker in 0..NAMES.len(),
    ) {
        // Room for everything, so that nothing is evicted by the attempt.
        let settings = Settings { residency_per_worker: 10_000, ..settings };
        // The attempt's number is its own.
        story.retain(|(_, told)| !matches!(told, Told::Dispatched(_, 0, _) | Told::Held(_, 0, _)));
        let (mut fleet, at) = replay(&settings, &story);
        let held = |fleet: &Fleet| fleet.workers().map(|w| w.residency).collect::<Vec<_>>();
        let before = held(&fleet);
        let attempt = RequestId(0);
        let id = id(worker);
        with_request(asked, |of| {
            fleet.observe(at, &Event::Dispatched { worker: id, request: attempt, of });
        });
        let during = held(&fleet);
        prop_assert!(during.iter().zip(&before).all(|(d, b)| d >= b));
        fleet.observe(at, &Event::Failed { worker: id, request: attempt });
        let after = held(&fleet);
        // What only other attempts that are still out hang on may go with it, nothing more comes.
        prop_assert!(after.iter().zip(&before).all(|(a, b)| a <= b));
    }
}

/// Found by the law above when an empty queue was reported at a time that had passed.
#[test]
fn a_stale_report_of_an_empty_queue_does_not_stand_against_late_answers() {
    let of = Asked {
        text: 0,
        tokens: 0,
        key: None,
    };
    let empty = Report {
        running: Some(0),
        ..Report::default()
    };
    let settings = Settings {
        routers: 2,
        ..Settings::default()
    };
    let story = [
        (0, Told::Joined(2, 1.0)),
        (0, Told::Dispatched(2, 2, of)),
        (1_000_000, Told::FirstByte(2, 2)),
        (6_000_000, Told::Finished(2, 2)),
    ];
    let pending_ms = |fleet: &Fleet| fleet.worker(id(2)).unwrap().pending_ms;
    let (mut fleet, at) = replay(&settings, &story);
    let told_by_lateness = pending_ms(&fleet);
    assert!(told_by_lateness > 100.0, "{told_by_lateness}");
    tell(&mut fleet, At::default(), &Told::Reported(2, empty));
    assert_eq!(pending_ms(&fleet).to_bits(), told_by_lateness.to_bits());
    tell(&mut fleet, at, &Told::Reported(2, empty));
    assert_eq!(pending_ms(&fleet).to_bits(), 0_f64.to_bits());
}
