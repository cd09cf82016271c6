//! How beliefs and counters live and die with the events.

use headwater_placement::{
    Event, Generation, Reason, Report, RequestId, Settings, WorkerId, WorkerState,
};

use crate::world::{World, keyed, prompt, signed};

fn two() -> World {
    World::of(2, Settings::default())
}

#[test]
fn a_failure_before_the_first_byte_takes_the_belief_back() {
    let (text, mut world) = (prompt(1, 10_000), two());
    let (first, id) = world.send(&signed(&text, 42));
    assert_eq!(
        world.place(&signed(&text, 42)).unwrap().reason,
        Reason::Resident
    );
    world.fail(first.worker, id);
    assert_eq!(
        world.place(&signed(&text, 42)).unwrap().reason,
        Reason::Home
    );
    assert_eq!(world.fleet.residency_len(), 0);
}

#[test]
fn a_client_that_leaves_during_the_answer_leaves_a_warm_cache() {
    let (text, mut world) = (prompt(1, 10_000), two());
    let (first, request) = world.send(&signed(&text, 42));
    world.tell(&Event::FirstByte {
        worker: first.worker,
        request,
    });
    world.fail(first.worker, request);
    assert_eq!(
        world.place(&signed(&text, 42)).unwrap().reason,
        Reason::Resident
    );
    let view = world.fleet.worker(first.worker).unwrap();
    assert_eq!(
        (view.in_flight, view.waiting, view.uncached_tokens),
        (0, 0, 0)
    );
}

#[test]
fn another_generation_is_an_empty_cache() {
    let (text, mut world) = (prompt(1, 10_000), two());
    let served = world.serve(&signed(&text, 42)).worker;
    let (_, late) = world.send(&signed(&text, 42));
    let tag = world.tag(served);
    world.restart(served, 7);
    assert_ne!(world.tag(served), tag);
    let view = world.fleet.worker(served).unwrap();
    assert_eq!(
        (view.residency, view.in_flight),
        (0, 1),
        "the caller has yet to say how it ended"
    );
    // An answer of the old process warms nothing in the new one.
    world.finish(served, late);
    assert_eq!(world.place(&signed(&text, 42)).unwrap().matched_tokens, 0);
    assert_eq!(world.fleet.worker(served).unwrap().in_flight, 0);
    // The same generation again changes nothing.
    world.serve(&signed(&text, 42));
    world.restart(served, 7);
    assert_eq!(
        world.place(&signed(&text, 42)).unwrap().reason,
        Reason::Resident
    );
}

#[test]
fn a_restart_that_only_one_router_noticed_leaves_the_tag_to_both() {
    let (text, mut world) = (prompt(1, 10_000), two());
    let served = world.serve(&signed(&text, 42)).worker;
    let (tag, generation) = (world.tag(served), Generation::default().after_restart());
    world.tell(&Event::Generation {
        worker: served,
        generation,
    });
    assert_eq!(world.fleet.worker(served).unwrap().residency, 0);
    assert_eq!(world.tag(served), tag);
}

#[test]
fn another_generation_has_reported_nothing() {
    let (text, mut world) = (prompt(1, 10_000), World::of(1, Settings::default()));
    let worker = WorkerId::of("w0");
    let report = Report {
        waiting: Some(9),
        kv_use: Some(0.9),
        cache_tokens: Some(1),
        ..Report::default()
    };
    world.report(worker, report);
    let view = world.fleet.worker(worker).unwrap();
    assert!(view.hot && view.pending_ms > 0.0);
    world.restart(worker, 1);
    let view = world.fleet.worker(worker).unwrap();
    assert_eq!(
        (view.hot, view.reported, view.pending_ms),
        (false, None, 0.0)
    );
    // It has the default's room again, so what it is sent stays.
    world.serve(&signed(&text, 42));
    assert_eq!(
        world.place(&signed(&text, 42)).unwrap().reason,
        Reason::Resident
    );
}

#[test]
fn a_worker_that_comes_back_starts_fresh() {
    let (text, mut world) = (prompt(1, 10_000), two());
    let (first, id) = world.send(&signed(&text, 42));
    world.kv(first.worker, 0.9);
    let name = world.fleet.worker(first.worker).unwrap().name;
    world.tell(&Event::Left {
        worker: first.worker,
    });
    assert_eq!(
        (
            world.fleet.worker(first.worker),
            world.fleet.residency_len()
        ),
        (None, 0)
    );
    world.join(&name, 1.0);
    // Its former life's requests are nobody's.
    world.finish(first.worker, id);
    let view = world.fleet.worker(first.worker).unwrap();
    assert_eq!((view.in_flight, view.residency, view.hot), (0, 0, false));
    assert_eq!(
        world.place(&signed(&text, 42)).unwrap().reason,
        Reason::Home
    );
}

#[test]
fn what_was_sent_since_pushes_a_prefix_out() {
    let (text, mut world) = (prompt(1, 10_000), World::of(1, Settings::default()));
    let worker = WorkerId::of("w0");
    world.report(
        worker,
        Report {
            cache_tokens: Some(100_000),
            ..Report::default()
        },
    );
    world.serve(&signed(&text, 42));
    world.serve(&signed(&prompt(2, 80_000), 43));
    assert_eq!(
        world.place(&signed(&text, 42)).unwrap().reason,
        Reason::Resident
    );
    // Used again, it outlives what came after it;
    world.serve(&signed(&text, 42));
    world.serve(&signed(&prompt(3, 20_000), 44));
    assert_eq!(
        world.place(&signed(&text, 42)).unwrap().reason,
        Reason::Resident
    );
    // idle, it goes once the cache is full of what was used since.
    world.serve(&signed(&prompt(4, 80_000), 45));
    assert_eq!(
        world.place(&signed(&text, 42)).unwrap().reason,
        Reason::Home
    );
}

#[test]
fn only_what_is_missing_counts_as_sent_and_pending() {
    let (text, mut world) = (prompt(1, 10_000), World::of(1, Settings::default()));
    let worker = WorkerId::of("w0");
    world.send(&signed(&text, 42));
    assert_eq!(world.fleet.worker(worker).unwrap().uncached_tokens, 10_000);
    world.send(&signed(&text, 42));
    let view = world.fleet.worker(worker).unwrap();
    assert_eq!(
        (view.uncached_tokens, view.waiting, view.in_flight),
        (10_016, 2, 2)
    );
    assert!(
        view.pending_ms > 638.0 && view.pending_ms < 700.0,
        "{}",
        view.pending_ms
    );
}

#[test]
fn a_number_in_use_again_ends_its_earlier_attempt() {
    let mut world = two();
    let [a, b] = [WorkerId::of("w0"), WorkerId::of("w1")];
    let request = RequestId(99);
    world.tell(&Event::Dispatched {
        worker: a,
        request,
        of: &keyed(1),
    });
    world.tell(&Event::Dispatched {
        worker: b,
        request,
        of: &keyed(1),
    });
    let in_flight = |world: &World, id| world.fleet.worker(id).unwrap().in_flight;
    assert_eq!((in_flight(&world, a), in_flight(&world, b)), (0, 1));
    // A late word of the first one is not about the second.
    world.tell(&Event::Finished { worker: a, request });
    assert_eq!((in_flight(&world, a), in_flight(&world, b)), (0, 1));
    world.tell(&Event::Finished { worker: b, request });
    world.tell(&Event::Finished { worker: b, request });
    assert_eq!((in_flight(&world, a), in_flight(&world, b)), (0, 0));
}

#[test]
fn joining_again_changes_the_weight_alone() {
    let mut world = two();
    let decision = world.serve(&keyed(42));
    let worker = decision.worker;
    for (weight, expected) in [(3.0, 3.0), (f64::NAN, 1.0), (-1.0, 1.0), (0.0, 1.0)] {
        world.tell(&Event::Joined {
            worker,
            name: "another name",
            weight,
        });
        let view = world.fleet.worker(worker).unwrap();
        assert_eq!((view.weight, view.state), (expected, WorkerState::Ready));
        assert_ne!(view.name, "another name");
    }
    assert_eq!(world.place(&keyed(42)).unwrap().reason, Reason::Session);
}
