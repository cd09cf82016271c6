//! What engines, times and other routers teach.

use headwater_placement::{Event, Policy, PrefixName, Reason, Report, Settings, WorkerId};
use proptest::prelude::*;

use crate::world::{World, echoing, keyed, named, prompt, signed};

fn matched(world: &World, text: u64) -> u32 {
    let of = prompt(text, 10_000);
    world.place(&signed(&of, text)).unwrap().matched_tokens
}

#[test]
fn events_of_a_cache_are_the_last_word() {
    let mut world = World::of(2, Settings::default());
    let (worker, text) = (WorkerId::of("w1"), prompt(1, 10_000));
    let name = |at: usize| PrefixName {
        fingerprint: text.fingerprint(),
        hash: text.rungs()[at].hash,
    };
    let prefixes = [name(0), name(2)];
    let stored = Event::Stored {
        worker,
        prefixes: &prefixes,
    };
    world.tell(&stored);
    assert_eq!(matched(&world, 1), 9_984);
    let prefixes = [name(2)];
    world.tell(&Event::Removed {
        worker,
        prefixes: &prefixes,
    });
    assert_eq!(matched(&world, 1), 2_496, "the shorter one is still there");
    world.tell(&Event::Cleared { worker });
    assert_eq!((matched(&world, 1), world.fleet.residency_len()), (0, 0));
}

#[test]
fn what_is_on_its_way_when_a_cache_is_cleared_is_computed_after() {
    let mut world = World::of(2, Settings::default());
    let worker = WorkerId::of("w1");
    let serve = |world: &mut World, text| {
        let request = world.send_to(worker, &signed(&prompt(text, 10_000), text));
        world.finish(worker, request);
    };
    serve(&mut world, 1);
    serve(&mut world, 2);
    // Of two that are cleared one is asked for again already, and a third is new.
    let again = world.send_to(worker, &signed(&prompt(1, 10_000), 1));
    let fresh = world.send_to(worker, &signed(&prompt(3, 10_000), 3));
    world.tell(&Event::Cleared { worker });
    assert_eq!(
        [1, 2, 3].map(|text| matched(&world, text)),
        [9_984, 0, 9_984]
    );
    // It is no more than what these two bring.
    world.fail(worker, again);
    world.finish(worker, fresh);
    assert_eq!([1, 2, 3].map(|text| matched(&world, text)), [0, 0, 9_984]);
}

#[test]
fn a_cache_that_never_holds_what_it_should_was_emptied() {
    let mut world = World::of(1, Settings::default());
    let worker = WorkerId::of("w0");
    world.serve(&signed(&prompt(7, 10_000), 7));
    let turn = |world: &mut World, tokens| {
        let of = prompt(1, 10_000);
        let (_, request) = world.send(&signed(&of, 1));
        world.tell(&Event::FirstByte { worker, request });
        world.tell(&Event::Cached {
            worker,
            request,
            tokens,
        });
        world.tell(&Event::Finished { worker, request });
    };
    // One surprise is a rounding or an accident; the word of the engine is believed in a row.
    (0..9).for_each(|i| turn(&mut world, if i % 2 == 0 { 0 } else { 9_984 }));
    assert_eq!(matched(&world, 7), 9_984);
    (0..8).for_each(|_| turn(&mut world, 0));
    assert_eq!(matched(&world, 7), 0);
}

#[test]
fn a_worker_that_is_clearly_slower_is_known_to_be() {
    let mut world = World::of(2, Settings::default());
    let [slow, fast] = [WorkerId::of("w0"), WorkerId::of("w1")];
    for turn in 0..300_u64 {
        for (worker, factor) in [(slow, 4), (fast, 1)] {
            let of = prompt(1_000 + turn, 10_000);
            let request = world.send_to(worker, &signed(&of, turn));
            world.ms += 638 * factor;
            world.tell(&Event::FirstByte { worker, request });
            world.ms += 1_000;
            world.tell(&Event::Finished { worker, request });
        }
    }
    let token_ms = |id| world.fleet.worker(id).unwrap().prefill.token_ms;
    let ratio = token_ms(slow) / token_ms(fast);
    assert!((2.0..6.0).contains(&ratio), "{ratio}");
}

#[test]
fn a_worker_that_was_never_asked_is_taken_for_an_ordinary_one() {
    let mut world = World::of(3, Settings::default());
    let asked = WorkerId::of("w0");
    // A fleet that is six times as fast as configured; only one of it has been seen to be.
    for turn in 0..300_u64 {
        let of = prompt(1_000 + turn, 10_000);
        let request = world.send_to(asked, &signed(&of, turn));
        world.ms += 106;
        world.tell(&Event::FirstByte {
            worker: asked,
            request,
        });
        world.ms += 1_000;
        world.tell(&Event::Finished {
            worker: asked,
            request,
        });
    }
    world.join("late", 1.0);
    let token_ms = |name| {
        world
            .fleet
            .worker(WorkerId::of(name))
            .unwrap()
            .prefill
            .token_ms
    };
    assert!(token_ms("w0") < 0.02, "{}", token_ms("w0"));
    for name in ["w1", "w2", "late"] {
        let ratio = token_ms(name) / token_ms("w0");
        assert!((0.8..1.25).contains(&ratio), "{name}: {ratio}");
    }
}

#[test]
fn answers_in_one_piece_teach_nothing() {
    let mut world = World::of(1, Settings::default());
    let worker = WorkerId::of("w0");
    for turn in 0..100_u64 {
        let of = prompt(turn, 10_000);
        let request = world.send_to(worker, &signed(&of, turn));
        world.ms += 30_000;
        world.finish(worker, request);
    }
    let view = world.fleet.worker(worker).unwrap();
    assert_eq!(view.prefill, Settings::default().prefill);
}

#[test]
fn a_new_worker_beside_warm_ones_starts_slowly() {
    let mut world = World::of(2, Settings::default());
    world.ms = 60_000;
    world.join("new", 1.0);
    let new = WorkerId::of("new");
    let count = |world: &mut World| {
        let sent: Vec<_> = (0..12)
            .map(|key| world.send(&keyed(key)).0.worker)
            .collect();
        sent.iter().filter(|id| **id == new).count()
    };
    let at_once = count(&mut world);
    let mut world = World::of(2, Settings::default());
    world.join("new", 1.0);
    world.ms = 60_000;
    let later = count(&mut world);
    assert!(at_once < later, "{at_once} {later}");
}

#[test]
fn where_clients_echo_a_stranger_is_new() {
    let settings = Settings {
        routers: 4,
        ..Settings::default()
    };
    let (mut world, text) = (World::of(4, settings), prompt(1, 10_000));
    let home = world.place(&signed(&text, 42)).unwrap().worker;
    world.send_to(home, &signed(&prompt(2, 12_000), 7));
    // Nobody echoes: it may have lived at its home with another router.
    assert_eq!(world.place(&signed(&text, 42)).unwrap().worker, home);
    // First turns have nothing to echo and say nothing of what clients do.
    let other = world.candidates(&keyed(42))[3];
    let tag = world.tag(other);
    let mut turn = |key, of| {
        let id = world.send_to(other, &signed(&of, key));
        world.finish(other, id);
    };
    (100..200).for_each(|key| turn(key, prompt(key, 2_000)));
    turn(100, echoing(prompt(1_100, 4_000), tag, 3_000));
    assert_ne!(world.place(&signed(&text, 42)).unwrap().worker, home);
    // One that takes long to prefill may be a turn that could not wait for the echo.
    let long = prompt(1, 150_000);
    assert_eq!(world.place(&signed(&long, 42)).unwrap().worker, home);
}

#[test]
fn pending_tokens_of_other_routers_count() {
    let mut world = World::of(2, Settings::default());
    let home = world.place(&keyed(42)).unwrap().worker;
    let report = Report {
        pending_tokens: Some(100_000),
        ..Report::default()
    };
    world.report(home, report);
    assert_ne!(world.place(&keyed(42)).unwrap().worker, home);
    let pending_ms = world.fleet.worker(home).unwrap().pending_ms;
    // At what a token of a typical prompt takes, attention included.
    assert!((6_000.0..7_000.0).contains(&pending_ms), "{pending_ms}");
}

fn ring(workers: usize) -> World {
    let settings = Settings {
        policy: Policy::Ring,
        ..Settings::default()
    };
    World::of(workers, settings)
}

#[test]
fn the_ring_keeps_a_conversation_and_goes_on_when_full() {
    let mut world = ring(8);
    let text = prompt(1, 10_000);
    let first = world.serve(&signed(&text, 42));
    assert_eq!(first.reason, Reason::Home);
    let again = world.place(&signed(&text, 42)).unwrap();
    assert_eq!(
        (again.worker, again.reason),
        (first.worker, Reason::Resident)
    );
    for _ in 0..16 {
        let request = world.send_to(first.worker, &signed(&text, 42));
        let worker = first.worker;
        world.tell(&Event::FirstByte { worker, request });
    }
    let spilled = world.place(&signed(&text, 42)).unwrap();
    assert_eq!(spilled.reason, Reason::SpillQueue);
    assert_ne!(spilled.worker, first.worker);
    world.kv(spilled.worker, 0.9);
    let hot = world.place(&signed(&text, 42)).unwrap();
    assert!(hot.worker != spilled.worker && hot.worker != first.worker);
}

#[test]
fn a_hot_static_prefix_gets_more_workers_of_the_ring() {
    let mut world = ring(8);
    // One static prefix, many conversations.
    let of = |session: u64| {
        let static_ = named(1, 4_000, &[50]);
        let own = named(1_000 + session, 4_000, &[200]);
        let rungs = [static_.rungs()[0], own.rungs()[0]];
        let (block, scheme) = (static_.block(), static_.fingerprint());
        headwater_signature::Signature::new(block, 4_000, scheme, &rungs, None).unwrap()
    };
    let mut workers = std::collections::BTreeSet::new();
    for session in 0..10 {
        workers.insert(world.serve(&signed(&of(session), session)).worker);
    }
    assert_eq!(workers.len(), 1, "so few say nothing of its share");
    for session in 10..200 {
        workers.insert(world.serve(&signed(&of(session), session)).worker);
    }
    assert_eq!(workers.len(), 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_in_which_workers_join_means_nothing(
        order in Just((0_usize..9).collect::<Vec<_>>()).prop_shuffle(),
        policy in prop::sample::select(Policy::ALL.to_vec()),
        key in any::<u64>(),
    ) {
        let settings = Settings { policy, ..Settings::default() };
        let (mut sorted, mut shuffled) = (World::of(0, settings.clone()), World::of(0, settings));
        (0..9).for_each(|w| sorted.join(&format!("w{w}"), 1.0 + f64::from(w % 3)));
        for w in order {
            shuffled.join(&format!("w{w}"), 1.0 + (w % 3) as f64);
        }
        for step in 0..12_u64 {
            let of = prompt(step % 4, 9_000);
            let request = signed(&of, key.wrapping_add(step));
            prop_assert_eq!(sorted.candidates(&request), shuffled.candidates(&request));
            prop_assert_eq!(sorted.send(&request), shuffled.send(&request));
        }
    }

    #[test]
    fn one_worker_more_takes_few_conversations(
        policy in prop::sample::select(vec![Policy::Cost, Policy::Ring]),
        first in any::<u64>(),
    ) {
        let settings = Settings { policy, ..Settings::default() };
        let (before, mut after) = (World::of(9, settings.clone()), World::of(9, settings));
        after.join("one more", 1.0);
        let home = |world: &World, key: u64| world.place(&keyed(key)).unwrap().worker;
        let keys = (0..300_u64).map(|i| first.wrapping_add(i));
        let moved = keys.filter(|key| home(&before, *key) != home(&after, *key)).count();
        // A tenth, give or take what 300 draws and 100 nodes give or take.
        prop_assert!((6..75).contains(&moved), "{}", moved);
    }

    #[test]
    fn work_spreads_as_the_weights_say(key in any::<u64>()) {
        let mut world = World::of(0, Settings::default());
        for (name, weight) in [("a", 1.0), ("b", 1.0), ("c", 2.0)] {
            world.join(name, weight);
        }
        // Streams that do not end: the decode load alone decides.
        for step in 0..200_u64 {
            let of = prompt(step + 10, 1_000);
            let (decision, request) = world.send(&signed(&of, key.wrapping_add(step)));
            let worker = decision.worker;
            world.tell(&Event::FirstByte { worker, request });
        }
        let count = |name| world.fleet.worker(WorkerId::of(name)).unwrap().in_flight;
        prop_assert!((85..=115).contains(&count("c")), "{}", count("c"));
        prop_assert!((35..=65).contains(&count("a")), "{}", count("a"));
    }
}

/// First bytes of so many answers that stream came so late, with three others beside each.
fn late_at(world: &mut World, worker: WorkerId, late_ms: u64) {
    for text in 0..20 {
        let others =
            [1, 2, 3].map(|n| world.send_to(worker, &signed(&prompt(100 * text + n, 64), n)));
        let request = world.send_to(worker, &signed(&prompt(100 * text, 64), 9));
        world.ms += 60 + late_ms;
        for request in others.into_iter().chain([request]) {
            world.tell(&Event::FirstByte { worker, request });
        }
        world.ms += 1_000;
        for request in others.into_iter().chain([request]) {
            world.finish(worker, request);
        }
    }
}

#[test]
fn requests_at_a_worker_whose_slots_are_few_cost_what_they_cost() {
    let goes_to = |late_ms| {
        let mut world = World::of(2, Settings::default());
        let worker = WorkerId::of("w0");
        late_at(&mut world, worker, late_ms);
        // It knows this prompt, and has four others that it answers.
        let known = prompt(8_000, 640);
        let request = world.send_to(worker, &signed(&known, 8));
        world.tell(&Event::FirstByte { worker, request });
        world.finish(worker, request);
        for n in 0..4 {
            let request = world.send_to(worker, &signed(&prompt(9_000 + n, 64), n));
            world.tell(&Event::FirstByte { worker, request });
        }
        world.place(&signed(&known, 8)).unwrap().worker
    };
    assert_eq!(goes_to(0), WorkerId::of("w0"));
    assert_eq!(goes_to(3_000), WorkerId::of("w1"));
}

#[test]
fn a_small_prefix_does_not_draw_everybody_to_caches_that_forget() {
    // Conversations that all begin with 1,024 tokens, over caches of 100,000.
    let mut world = World::of(
        8,
        Settings {
            cache_tokens_default: 100_000,
            ..Settings::default()
        },
    );
    let mut served = std::collections::BTreeMap::<WorkerId, u32>::new();
    for text in 0..400_u64 {
        let own = named(1_000 + text, 10_000, &[600]);
        let shared = named(1, 10_000, &[64]);
        let rungs = [shared.rungs()[0], own.rungs()[0]];
        let of = headwater_signature::Signature::new(
            own.block(),
            10_000,
            own.fingerprint(),
            &rungs,
            None,
        );
        let (decision, request) = world.send(&signed(&of.unwrap(), text));
        *served.entry(decision.worker).or_default() += 1;
        world.ms += 700;
        world.tell(&Event::FirstByte {
            worker: decision.worker,
            request,
        });
        world.ms += 300;
        world.finish(decision.worker, request);
    }
    let most = served.values().max().unwrap();
    assert!(*most < 120, "{served:?}");
}
