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
