//! Other routers before the same workers: what engines and clients tell of them.

use headwater_placement::{At, Event, Handover, Reason, Report, RequestId, Settings, WorkerId};

use crate::world::{World, echoing, keyed, prompt, signed};

fn computed(tokens: u64) -> Report {
    Report {
        computed_tokens: Some(tokens),
        cache_tokens: Some(100_000),
        ..Report::default()
    }
}

fn reason(world: &World, text: u64, key: u64) -> Reason {
    let text = prompt(text, 20_000);
    world.place(&signed(&text, key)).unwrap().reason
}

#[test]
fn what_others_have_waiting_there_is_waited_for_too() {
    let mut world = World::of(1, Settings::default());
    let only = WorkerId::of("w0");
    let handover = |world: &World| world.place(&keyed(42)).unwrap().handover;
    let report = |tokens| Report {
        pending_tokens: Some(tokens),
        ..Report::default()
    };
    assert_eq!(handover(&world), Handover::Now);
    world.report(only, report(10_000));
    assert_eq!(handover(&world), Handover::Wait);
    // It works on that whether or not it says so again.
    world.ms += 600;
    assert_eq!(handover(&world), Handover::Now);
    // Our own are no others'.
    world.report(only, report(0));
    world.send(&keyed(42));
    let own = world.fleet.worker(only).unwrap().uncached_tokens;
    world.report(only, report(own));
    assert_eq!(world.fleet.worker(only).unwrap().uncached_tokens, own);
}

#[test]
fn what_waits_for_others_leaves_when_they_will_be_done() {
    let mut world = World::of(1, Settings::default());
    let only = WorkerId::of("w0");
    world.report(
        only,
        Report {
            pending_tokens: Some(10_000),
            ..Report::default()
        },
    );
    let request = RequestId(77);
    let of = &keyed(42);
    let worker = world.place(of).unwrap().worker;
    world.tell(&Event::Held {
        worker,
        request,
        of,
    });
    assert_eq!(world.fleet.release(world.now()), None);
    let due = world.fleet.next_release_at().unwrap();
    // 7,952 tokens more than the worker is to have before it, at some 0.06 ms each.
    assert!((400_000..700_000).contains(&due.micros()), "{due:?}");
    let before = At::from_micros(due.micros() - 2_000);
    assert_eq!(world.fleet.release(before), None);
    let release = world.fleet.release(due).unwrap();
    assert_eq!((release.request, release.decision.worker), (request, only));
}

#[test]
fn a_busy_worker_before_an_idle_router_says_nothing_of_what_others_will_send() {
    let mut world = World::of(4, Settings::default());
    let (busy, text) = (WorkerId::of("w0"), prompt(1, 216));
    for running in [Some(40), Some(0), Some(0)] {
        world.report(
            busy,
            Report {
                running,
                ..Report::default()
            },
        );
        for worker in ["w1", "w2", "w3"] {
            let running = Some(0);
            let idle = Report {
                running,
                ..Report::default()
            };
            world.report(WorkerId::of(worker), idle);
        }
    }
    let first = world.serve(&signed(&text, 1));
    let again = world.serve(&signed(&text, 1));
    assert_eq!(
        (again.worker, again.reason),
        (first.worker, Reason::Resident)
    );
    assert_eq!(
        world
            .fleet
            .worker(first.worker)
            .unwrap()
            .pending_ms
            .to_bits(),
        0_f64.to_bits(),
        "what has been answered leaves nothing behind"
    );
}

#[test]
fn what_others_have_computed_ages_our_prefixes() {
    let mut world = World::of(1, Settings::default());
    let only = WorkerId::of("w0");
    world.report(only, computed(7_000_000));
    world.serve(&signed(&prompt(1, 20_000), 1));
    // All that the engine has computed since is ours: nothing is overwritten.
    world.report(only, computed(7_020_000));
    assert_eq!(reason(&world, 1, 1), Reason::Resident);
    world.report(only, computed(7_060_000));
    assert_eq!(reason(&world, 1, 1), Reason::Resident);
    world.report(only, computed(7_200_000));
    assert_ne!(reason(&world, 1, 1), Reason::Resident);
    // A new process counts from 0, and that is no work of others.
    world.serve(&signed(&prompt(1, 20_000), 1));
    world.restart(only, 9);
    world.serve(&signed(&prompt(1, 20_000), 1));
    world.report(only, computed(20_000));
    assert_eq!(reason(&world, 1, 1), Reason::Resident);
}

#[test]
fn our_own_record_of_a_turn_says_more_than_its_echo() {
    let mut world = World::of(1, Settings::default());
    let only = WorkerId::of("w0");
    world.report(only, computed(0));
    let (turn, tag) = (prompt(1, 20_000), world.tag(only));
    world.serve(&signed(&turn, 1));
    let echo_of = |tokens| {
        let next = prompt(2, 24_000);
        echoing(next, tag, tokens)
    };
    let matched = |world: &World, tokens| {
        let next = echo_of(tokens);
        world.place(&signed(&next, 1)).unwrap().matched_tokens
    };
    // Nothing of the next prompt has a name that we know: our record says that it is new.
    assert_eq!(matched(&world, 20_000), 0);
    // Another turn, which went through another router.
    world.report(only, computed(40_000));
    assert_eq!(matched(&world, 22_000), 22_000);
    assert_eq!(matched(&world, 19_008), 19_008);
}

/// Three streams at each of two workers; those of `w0` begin ten seconds late.
fn where_one_is_late(routers: u32, streaming_ms: u64) -> World {
    let settings = Settings {
        routers,
        ..Settings::default()
    };
    let mut world = World::of(2, settings);
    for round in 0..3 {
        for (name, late_ms) in [("w0", 10_000), ("w1", 0)] {
            let worker = WorkerId::of(name);
            let text = prompt(100 * round + late_ms, 1_000);
            let request = world.send_to(worker, &signed(&text, 1));
            world.ms += 70 + late_ms;
            world.tell(&Event::FirstByte { worker, request });
            world.ms += streaming_ms;
            world.tell(&Event::Finished { worker, request });
        }
    }
    world
}

/// What is expected to lie ahead at each of the two now.
fn ahead_ms(world: &mut World) -> [f64; 2] {
    // A view is of the latest event; this one changes nothing.
    let worker = WorkerId::of("nobody");
    world.tell(&Event::Cleared { worker });
    ["w0", "w1"].map(|name| world.fleet.worker(WorkerId::of(name)).unwrap().pending_ms)
}

#[test]
fn a_late_answer_tells_of_what_others_have_there() {
    let mut world = where_one_is_late(4, 500);
    let [late_ms, prompt_ms] = ahead_ms(&mut world);
    assert!((3_000.0..5_000.0).contains(&late_ms), "{late_ms}");
    assert!(prompt_ms < 50.0, "{prompt_ms}");
    // Whoever would rather be at the late one goes to the other, until that is long ago.
    let homes_at_late = |world: &World| {
        let late = WorkerId::of("w0");
        let at_late = |key: &u64| world.place(&keyed(*key)).unwrap().worker == late;
        (0..64).filter(at_late).count()
    };
    assert_eq!(homes_at_late(&world), 0);
    world.ms += 36_000_000;
    assert!(homes_at_late(&world) > 16);
    // What engines report is better known, be it nothing.
    let mut world = where_one_is_late(4, 500);
    let idle = Report {
        running: Some(0),
        waiting: Some(0),
        ..Report::default()
    };
    world.report(WorkerId::of("w0"), idle);
    assert_eq!(ahead_ms(&mut world)[0].to_bits(), 0_f64.to_bits());
    world.restart(WorkerId::of("w0"), 9);
    world.ms += 2_000;
    assert_eq!(
        ahead_ms(&mut world)[0].to_bits(),
        0_f64.to_bits(),
        "a new life"
    );
}

#[test]
fn an_answer_that_is_missing_tells_it_before_it_comes() {
    let mut world = where_one_is_late(4, 500);
    world.ms += 36_000_000;
    let worker = WorkerId::of("w1");
    let request = world.send_to(worker, &keyed(1));
    let own_ms = ahead_ms(&mut world)[1];
    world.ms += 20_000;
    // By now its prompt counts as prefilled.
    let missing_ms = ahead_ms(&mut world)[1];
    assert!(
        (9_000.0..10_000.0).contains(&missing_ms),
        "{own_ms} {missing_ms}"
    );
    world.fail(worker, request);
    assert!(ahead_ms(&mut world)[1] < 50.0);
}

#[test]
fn lateness_says_nothing_of_others_where_there_are_none_or_answers_do_not_stream() {
    for (routers, streaming_ms) in [(1, 500), (4, 0)] {
        let mut world = where_one_is_late(routers, streaming_ms);
        assert_eq!(ahead_ms(&mut world).map(f64::to_bits), [0; 2], "{routers}");
    }
}
