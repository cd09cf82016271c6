//! Requests that wait: in which order they go, where, and that none is lost.

use std::collections::BTreeSet;
use std::time::Duration;

use headwater_placement::{
    At, Event, Handover, Order, Reason, Report, Request, RequestId, Settings, WorkerId, WorkerState,
};
use proptest::prelude::*;

use crate::world::{World, keyed, named, prompt, signed};

/// Places a request and tells the fleet what came of it; gives whether it waits.
fn ask(world: &mut World, request: u64, of: &Request<'_>) -> Option<Handover> {
    let decision = world.place(of).ok()?;
    let (worker, request) = (decision.worker, RequestId(request));
    match decision.handover {
        Handover::Now => world.tell(&Event::Dispatched {
            worker,
            request,
            of,
        }),
        Handover::Wait => world.tell(&Event::Held {
            worker,
            request,
            of,
        }),
    }
    Some(decision.handover)
}

/// Follows the next release, whose request it must name.
pub(crate) fn follow(world: &mut World, expected: u64, of: &Request<'_>) -> (WorkerId, Reason) {
    let release = world.fleet.release(world.now()).unwrap();
    assert_eq!(release.request, RequestId(expected));
    assert_eq!(release.decision.handover, Handover::Now);
    let (worker, request) = (release.decision.worker, release.request);
    world.tell(&Event::Dispatched {
        worker,
        request,
        of,
    });
    (worker, release.decision.reason)
}

/// One worker that is busy with request 0, a prompt of 50,000 tokens, and knows the text 1.
fn busy(settings: Settings) -> World {
    let mut world = World::of(1, settings);
    world.serve(&signed(&prompt(1, 10_000), 1));
    let of = prompt(9, 50_000);
    assert_eq!(ask(&mut world, 1_000, &signed(&of, 9)), Some(Handover::Now));
    world
}

fn first_byte(world: &mut World, request: u64) {
    let (worker, request) = (WorkerId::of("w0"), RequestId(request));
    world.tell(&Event::FirstByte { worker, request });
}

#[test]
fn a_hit_overtakes_a_miss() {
    let mut world = busy(Settings::default());
    let (hit, miss) = (prompt(1, 10_000), prompt(2, 10_000));
    assert_eq!(
        ask(&mut world, 1_001, &signed(&miss, 2)),
        Some(Handover::Wait)
    );
    assert_eq!(
        ask(&mut world, 1_002, &signed(&hit, 1)),
        Some(Handover::Wait)
    );
    assert_eq!(
        world.fleet.release(world.now()),
        None,
        "it has enough to do"
    );
    let view = world.fleet.workers().next().unwrap();
    assert_eq!((view.held, view.in_flight, world.fleet.held()), (2, 1, 2));

    first_byte(&mut world, 1_000);
    let (_, reason) = follow(&mut world, 1_002, &signed(&hit, 1));
    assert_eq!(reason, Reason::Resident);
    // The hit is next to no work, so the miss goes with it, and nothing goes after that.
    follow(&mut world, 1_001, &signed(&miss, 2));
    assert_eq!(world.fleet.release(world.now()), None);
    assert_eq!(world.fleet.held(), 0);
}

#[test]
fn waiting_makes_up_for_a_miss() {
    let mut world = busy(Settings::default());
    let (hit, miss) = (prompt(1, 10_000), prompt(2, 10_000));
    ask(&mut world, 1_001, &signed(&miss, 2));
    // The miss takes some 630 ms longer, which is what 6.3 s of waiting are worth.
    world.ms += 6_500;
    ask(&mut world, 1_002, &signed(&hit, 1));
    first_byte(&mut world, 1_000);
    follow(&mut world, 1_001, &signed(&miss, 2));
}

#[test]
fn fifo_and_off_are_what_they_say() {
    let fifo = Settings {
        order: Order::Fifo,
        ..Settings::default()
    };
    let mut world = busy(fifo);
    let (hit, miss) = (prompt(1, 10_000), prompt(2, 10_000));
    ask(&mut world, 1_001, &signed(&miss, 2));
    world.ms += 1;
    ask(&mut world, 1_002, &signed(&hit, 1));
    first_byte(&mut world, 1_000);
    follow(&mut world, 1_001, &signed(&miss, 2));

    let off = Settings {
        order: Order::Off,
        ..Settings::default()
    };
    let mut world = busy(off);
    assert_eq!(
        ask(&mut world, 1_001, &signed(&miss, 2)),
        Some(Handover::Now)
    );
}

#[test]
fn a_burst_of_one_text_is_one_miss() {
    // Two requests wait that bring the same new prompt: the second one counts as a miss too
    // until the first has been sent, so neither hides behind the other.
    let mut world = busy(Settings::default());
    let (burst, hit) = (prompt(2, 10_000), prompt(1, 10_000));
    ask(&mut world, 1_001, &signed(&burst, 2));
    ask(&mut world, 1_002, &signed(&burst, 3));
    ask(&mut world, 1_003, &signed(&hit, 1));
    first_byte(&mut world, 1_000);
    follow(&mut world, 1_003, &signed(&hit, 1));
    follow(&mut world, 1_001, &signed(&burst, 2));
    assert_eq!(world.fleet.release(world.now()), None);
    first_byte(&mut world, 1_001);
    let (_, reason) = follow(&mut world, 1_002, &signed(&burst, 3));
    assert_eq!(reason, Reason::Resident);
}

#[test]
fn a_client_that_leaves_costs_nothing() {
    let mut world = busy(Settings::default());
    let miss = prompt(2, 10_000);
    let before = world.fleet.residency_len();
    ask(&mut world, 1_001, &signed(&miss, 2));
    assert!(world.fleet.residency_len() > before);
    world.tell(&Event::Abandoned {
        request: RequestId(1_001),
    });
    assert_eq!(
        (world.fleet.residency_len(), world.fleet.held()),
        (before, 0)
    );
    first_byte(&mut world, 1_000);
    assert_eq!(world.fleet.release(world.now()), None);
}

#[test]
fn nobody_is_held_for_longer_than_allowed() {
    let mut world = busy(Settings {
        max_hold: Duration::from_secs(2),
        ..Settings::default()
    });
    let miss = prompt(2, 10_000);
    ask(&mut world, 1_001, &signed(&miss, 2));
    world.ms = 1_999;
    assert_eq!(world.fleet.release(world.now()), None);
    assert_eq!(
        world.fleet.next_release_at(),
        Some(At::from_micros(2_000_000))
    );
    world.ms = 2_000;
    follow(&mut world, 1_001, &signed(&miss, 2));
    assert_eq!(world.fleet.next_release_at(), None);
}

/// When what waits behind a prompt of 10,000 tokens without a first byte is released, in
/// milliseconds, where an answer before streamed or did not.
fn released_after(streamed: bool) -> u64 {
    let mut world = World::of(1, Settings::default());
    let (decision, request) = world.send(&signed(&prompt(1, 10_000), 1));
    let worker = decision.worker;
    world.ms = if streamed { 700 } else { 5_000 };
    world.tell(&Event::FirstByte { worker, request });
    world.ms = 5_000;
    world.finish(worker, request);
    let first = ask(&mut world, 1_000, &signed(&prompt(2, 10_000), 2));
    let second = ask(&mut world, 1_001, &signed(&prompt(3, 10_000), 3));
    let waits = [first, second].map(Option::unwrap);
    assert_eq!(waits, [Handover::Now, Handover::Wait]);
    // Asked when it says, and not before.
    while world.fleet.release(world.now()).is_none() {
        let due = world.fleet.next_release_at().unwrap();
        let ms = due.since(At::default()).as_micros().div_ceil(1_000);
        world.ms = world.ms.max(ms.try_into().unwrap());
        assert!(world.ms < 60_000);
    }
    world.ms - 5_000
}

#[test]
fn answers_that_come_in_one_piece_hold_nobody_back() {
    // Its prefill takes 638 ms by what is assumed of engines.
    assert_eq!(released_after(false), 638);
    assert!(released_after(true) > 2_000 + 3 * 638);
}

#[test]
fn a_queue_that_is_full_goes_to_the_engine() {
    let mut world = busy(Settings {
        max_held: 2,
        ..Settings::default()
    });
    let of = prompt(2, 10_000);
    let handovers: Vec<_> = (1_001..1_004)
        .map(|id| ask(&mut world, id, &signed(&of, id)).unwrap())
        .collect();
    assert_eq!(handovers, [Handover::Wait, Handover::Wait, Handover::Now]);
}

#[test]
fn what_waits_for_a_lost_worker_goes_elsewhere() {
    let mut world = World::of(2, Settings::default());
    let (long, next) = (prompt(1, 60_000), named(1, 60_500, &[3_750]));
    let home = world.place(&signed(&long, 1)).unwrap().worker;
    assert_eq!(
        ask(&mut world, 1_000, &signed(&long, 1)),
        Some(Handover::Now)
    );
    // It shares the long prompt, so it waits for it.
    assert_eq!(
        ask(&mut world, 1_001, &signed(&next, 2)),
        Some(Handover::Wait)
    );
    world.state(home, WorkerState::Down);
    let (worker, reason) = follow(&mut world, 1_001, &signed(&next, 2));
    assert_ne!(worker, home);
    assert_eq!(reason, Reason::Rebound);
}

#[test]
fn what_waits_goes_to_no_worker_that_wants_to_be_left_alone() {
    let mut world = World::of(3, Settings::default());
    let names = ["w0", "w1", "w2"].map(WorkerId::of);
    let sent = names.map(|name| world.send_to(name, &signed(&prompt(9, 60_000), 9)));
    let of = |id: u64| prompt(id, 20_000);
    for id in 1_001..1_007 {
        assert_eq!(
            ask(&mut world, id, &signed(&of(id), id)),
            Some(Handover::Wait)
        );
    }
    // One answered 503 at once: it has nothing to do, but not because it is the freest.
    let [pressed, ready, other] = names;
    world.state(pressed, WorkerState::Starting);
    world.fail(pressed, sent[0]);
    assert!(world.fleet.release(world.now()).is_none());
    // Who waited for it goes to the first that is free, and nobody goes to it.
    world.finish(ready, sent[1]);
    let mut moved = 0;
    while let Some(release) = world.fleet.release(world.now()) {
        let (worker, request) = (release.decision.worker, release.request);
        assert_eq!(worker, ready);
        let of = of(request.0);
        world.tell(&Event::Dispatched {
            worker,
            request,
            of: &signed(&of, request.0),
        });
        world.finish(ready, request);
        moved += 1;
    }
    assert!(moved > 2, "{moved}");
    // With nobody else left it is better than nobody.
    world.state(ready, WorkerState::Down);
    world.state(other, WorkerState::Down);
    assert_eq!(
        ask(&mut world, 2_000, &signed(&of(2_000), 2_000)),
        Some(Handover::Now)
    );
}

#[test]
fn a_free_worker_takes_what_is_cold_anyway() {
    let mut world = World::of(2, Settings::default());
    let [a, b] = [WorkerId::of("w0"), WorkerId::of("w1")];
    // Both have a long prompt, the first one more than the second.
    world.send_to(a, &signed(&prompt(1, 60_000), 1));
    let short = world.send_to(b, &signed(&prompt(2, 50_000), 2));
    for id in 1_001..1_004 {
        ask(&mut world, id, &signed(&prompt(id, 20_000), id));
    }
    assert!(
        world.fleet.workers().all(|w| w.held > 0),
        "some wait for each"
    );
    // The second one is done with its prompt and all that waited for it: it takes from the first.
    world.finish(b, short);
    let mut moved = 0;
    while let Some(release) = world.fleet.release(world.now()) {
        let (worker, request) = (release.decision.worker, release.request);
        assert_eq!(worker, b);
        let of = prompt(request.0, 20_000);
        world.tell(&Event::Dispatched {
            worker,
            request,
            of: &signed(&of, request.0),
        });
        moved += u32::from(release.decision.reason == Reason::Rebound);
        world.finish(b, request);
    }
    assert!(moved > 0);
}

/// Other routers look for a conversation at its home: what waits for it there stays.
#[test]
fn what_waits_at_home_stays_beside_other_routers() {
    let held_at_home = |home_prior| {
        let settings = Settings {
            routers: 2,
            home_prior,
            ..Settings::default()
        };
        let mut world = World::of(2, settings);
        let of = prompt(2, 20_000);
        let home = world.place(&signed(&of, 42)).unwrap().worker;
        let (worker, request) = (home, RequestId(1_001));
        let id = world.send_to(home, &signed(&prompt(1, 8_000), 1));
        let of = &signed(&of, 42);
        world.tell(&Event::Held {
            worker,
            request,
            of,
        });
        (world, home, id)
    };
    let (mut world, home, _) = held_at_home(0.0);
    let moved = world.fleet.release(world.now()).unwrap().decision;
    assert_eq!(
        (moved.worker == home, moved.reason),
        (false, Reason::Rebound)
    );
    let (mut world, home, first) = held_at_home(0.8);
    assert_eq!(world.fleet.release(world.now()), None);
    world.finish(home, first);
    let stayed = world.fleet.release(world.now()).unwrap().decision;
    assert_eq!((stayed.worker, stayed.reason), (home, Reason::Home));
    assert_eq!(stayed.matched_tokens, 0, "a guess is not told");
}

#[test]
fn nothing_waits_beside_routers_whose_work_is_known() {
    let settings = Settings {
        routers: 2,
        ..Settings::default()
    };
    let mut world = busy(settings);
    let others = Report {
        running: Some(0),
        waiting: Some(0),
        ..Report::default()
    };
    world.report(WorkerId::of("w0"), others);
    let of = prompt(2, 10_000);
    let ask = |world: &World| world.place(&signed(&of, 2)).unwrap().handover;
    assert_eq!(ask(&world), Handover::Now);
    // Once the report is too old to be believed, order is better than none.
    world.ms += 10_000;
    assert_eq!(ask(&world), Handover::Wait);
}

#[test]
fn an_answer_that_does_not_stream_does_not_block_its_worker() {
    let mut world = busy(Settings::default());
    let miss = prompt(2, 10_000);
    ask(&mut world, 1_001, &signed(&miss, 2));
    // Three times the expected 3.8 s and 2 s more: by then the prompt has long been prefilled.
    world.ms = 14_000;
    world.state(WorkerId::of("w0"), WorkerState::Ready);
    follow(&mut world, 1_001, &signed(&miss, 2));
    // The end of the answer finds all counters as they should be.
    for id in [1_000, 1_001] {
        world.finish(WorkerId::of("w0"), RequestId(id));
    }
    let view = world.fleet.workers().next().unwrap();
    assert_eq!(
        (view.in_flight, view.waiting, view.uncached_tokens),
        (0, 0, 0)
    );
}

/// What can happen to a fleet that holds.
#[derive(Clone, Debug)]
enum Turn {
    Ask(u64, u32),
    FirstByte(usize),
    Finish(usize),
    Fail(usize),
    Abandon(usize),
    State(usize, WorkerState),
    Leave(usize),
    Join(usize),
    Pass(u64),
}

fn turn() -> impl Strategy<Value = Turn> {
    use WorkerState::{Down, Draining, Ready, Starting};
    let state = prop::sample::select(vec![Ready, Ready, Starting, Draining, Down]);
    prop_oneof![
        8 => (0_u64..6, 1_000_u32..40_000).prop_map(|(text, tokens)| Turn::Ask(text, tokens)),
        4 => (0_usize..8).prop_map(Turn::FirstByte),
        3 => (0_usize..8).prop_map(Turn::Finish),
        1 => (0_usize..8).prop_map(Turn::Fail),
        1 => (0_usize..8).prop_map(Turn::Abandon),
        2 => (0_usize..3, state).prop_map(|(w, s)| Turn::State(w, s)),
        1 => (0_usize..3).prop_map(Turn::Leave),
        1 => (0_usize..3).prop_map(Turn::Join),
        1 => (1_u64..20_000).prop_map(Turn::Pass),
    ]
}

/// A caller as the crate's documentation describes it, with its own book of who is where.
struct Caller {
    world: World,
    next: u64,
    held: BTreeSet<u64>,
    flying: Vec<(u64, WorkerId)>,
    over: BTreeSet<u64>,
}

impl Caller {
    fn take(&mut self, turn: &Turn) -> Result<(), TestCaseError> {
        let name = |w: usize| format!("w{w}");
        match *turn {
            Turn::Ask(text, tokens) => self.ask(text, tokens),
            Turn::FirstByte(at) => {
                if let Some((request, worker)) = self.flying.get(at).copied() {
                    let request = RequestId(request);
                    self.world.tell(&Event::FirstByte { worker, request });
                }
            }
            Turn::Finish(at) if at < self.flying.len() => {
                let (request, worker) = self.flying.remove(at);
                self.over.insert(request);
                let request = RequestId(request);
                self.world.tell(&Event::Finished { worker, request });
            }
            Turn::Fail(at) if at < self.flying.len() => {
                let (request, worker) = self.flying.remove(at);
                self.over.insert(request);
                self.world.fail(worker, RequestId(request));
            }
            Turn::Abandon(at) => {
                if let Some(request) = self.held.iter().nth(at).copied() {
                    self.held.remove(&request);
                    self.over.insert(request);
                    let request = RequestId(request);
                    self.world.tell(&Event::Abandoned { request });
                }
            }
            Turn::State(w, state) => self.world.state(WorkerId::of(&name(w)), state),
            Turn::Leave(w) => {
                let worker = WorkerId::of(&name(w));
                self.world.tell(&Event::Left { worker });
                let gone = self.flying.iter().filter(|f| f.1 == worker);
                self.over.extend(gone.map(|f| f.0));
                self.flying.retain(|f| f.1 != worker);
            }
            Turn::Join(w) => self.world.join(&name(w), 1.0),
            Turn::Pass(ms) => self.world.ms += ms,
            Turn::Finish(_) | Turn::Fail(_) => {}
        }
        self.follow()
    }

    fn ask(&mut self, text: u64, tokens: u32) {
        self.next += 1;
        let (id, of) = (self.next, prompt(text, tokens));
        match ask(&mut self.world, id, &signed(&of, text)) {
            Some(Handover::Now) => {
                let worker = self.world.sent_to.unwrap();
                self.flying.push((id, worker));
            }
            Some(Handover::Wait) => {
                self.held.insert(id);
            }
            None => {
                self.over.insert(id);
            }
        }
    }

    /// Follows every release there is.
    fn follow(&mut self) -> Result<(), TestCaseError> {
        while let Some(release) = self.world.fleet.release(self.world.now()) {
            let (worker, request) = (release.decision.worker, release.request);
            prop_assert!(self.held.remove(&request.0), "{request:?} does not wait");
            let state = self.world.fleet.worker(worker).map(|w| w.state);
            let serves = matches!(state, Some(WorkerState::Ready | WorkerState::Starting));
            prop_assert!(serves, "{state:?}");
            let of = keyed(request.0);
            self.world.tell(&Event::Dispatched {
                worker,
                request,
                of: &of,
            });
            self.flying.push((request.0, worker));
        }
        prop_assert_eq!(self.world.fleet.held(), self.held.len());
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn nobody_who_waits_is_lost_or_called_twice(
        order in prop::sample::select(Order::ALL.to_vec()),
        turns in prop::collection::vec(turn(), 0..120),
    ) {
        let settings = Settings { order, ..Settings::default() };
        let mut caller = Caller {
            world: World::of(3, settings),
            next: 0,
            held: BTreeSet::new(),
            flying: Vec::new(),
            over: BTreeSet::new(),
        };
        for turn in &turns {
            caller.take(turn)?;
        }
        // Once there is a worker and everything ends, everybody gets his turn.
        caller.take(&Turn::Join(0))?;
        while !caller.flying.is_empty() || !caller.held.is_empty() {
            prop_assert!(!caller.flying.is_empty(), "{:?} wait for nothing", caller.held);
            caller.take(&Turn::Finish(0))?;
        }
        prop_assert_eq!(caller.over.len() as u64, caller.next);
        for worker in caller.world.fleet.workers() {
            prop_assert_eq!((worker.held, worker.in_flight, worker.waiting), (0, 0, 0));
        }
    }

    #[test]
    fn nobody_starves(waited_ms in 1_u64..100_000) {
        // Hits keep coming; a miss that has waited for its prefill over the ageing goes first.
        let mut world = busy(Settings::default());
        let (hit, miss) = (prompt(1, 10_000), prompt(2, 10_000));
        ask(&mut world, 1_001, &signed(&miss, 2));
        // Held no longer than allowed, but that is another rule.
        world.ms += waited_ms.min(29_000);
        ask(&mut world, 1_002, &signed(&hit, 1));
        first_byte(&mut world, 1_000);
        let release = world.fleet.release(world.now()).unwrap();
        let first = if waited_ms > 6_500 { 1_001 } else { release.request.0 };
        prop_assert_eq!(release.request.0, first);
    }
}
