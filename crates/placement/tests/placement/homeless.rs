//! Requests that wait for a worker which is gone: none waits for ever, and whom nobody may have is
//! told.

use std::time::Duration;

use headwater_placement::{
    At, Event, Order, Reason, Report, Request, RequestId, Settings, WorkerId, WorkerState,
};

use crate::hold::follow;
use crate::world::{World, keyed, prompt, signed};

/// Two workers, of which the second is busy and the first, which one request waits for, is lost.
fn homeless(settings: Settings, excluded: &[WorkerId]) -> World {
    let mut world = World::of(2, settings);
    let [lost, left] = [WorkerId::of("w0"), WorkerId::of("w1")];
    for (id, worker) in [(900, lost), (901, left)] {
        let text = prompt(id, 60_000);
        let (request, of) = (RequestId(id), &signed(&text, id));
        world.tell(&Event::Dispatched {
            worker,
            request,
            of,
        });
    }
    let of = prompt(2, 10_000);
    let of = &Request {
        excluded,
        ..signed(&of, 2)
    };
    let (worker, request) = (lost, RequestId(1_001));
    world.tell(&Event::Held {
        worker,
        request,
        of,
    });
    world.state(lost, WorkerState::Down);
    assert_eq!(world.fleet.release(world.now()), None);
    world
}

#[test]
fn whose_worker_is_lost_waits_no_longer_than_others() {
    let settings = Settings {
        max_hold: Duration::from_secs(2),
        ..Settings::default()
    };
    let mut world = homeless(settings, &[]);
    let due = At::from_micros(2_000_000);
    assert_eq!(world.fleet.next_release_at(), Some(due));
    world.ms = 2_000;
    let (worker, _) = follow(&mut world, 1_001, &signed(&prompt(2, 10_000), 2));
    assert_eq!(worker, WorkerId::of("w1"));
}

#[test]
fn whose_worker_is_lost_goes_to_a_hot_one_if_there_is_no_other() {
    let mut world = homeless(Settings::default(), &[]);
    let left = WorkerId::of("w1");
    world.kv(left, 0.95);
    world.finish(left, RequestId(901));
    let (worker, _) = follow(&mut world, 1_001, &signed(&prompt(2, 10_000), 2));
    assert_eq!(worker, left);
}

#[test]
fn whom_nobody_may_have_any_more_is_told() {
    let left = WorkerId::of("w1");
    let mut world = homeless(Settings::default(), &[left]);
    world.finish(left, RequestId(901));
    world.ms = 100_000;
    assert_eq!(world.fleet.release(world.now()), None);
    assert_eq!(world.fleet.next_release_at(), None);
    let request = world.fleet.stranded().unwrap();
    assert_eq!(request, RequestId(1_001));
    world.tell(&Event::Abandoned { request });
    assert_eq!((world.fleet.stranded(), world.fleet.held()), (None, 0));
}

#[test]
fn a_guess_is_about_a_worker_and_not_about_its_place_in_the_list() {
    let settings = Settings {
        routers: 4,
        order: Order::Shortest,
        ..Settings::default()
    };
    let mut world = World::of(2, settings);
    let (of, text) = (prompt(7, 60_000), prompt(8, 60_000));
    let of = &signed(&of, 7);
    let home = world.place(of).unwrap().worker;
    let other = ["w0", "w1"]
        .map(WorkerId::of)
        .into_iter()
        .find(|w| *w != home);
    let other = other.unwrap();
    world.send_to(other, &signed(&text, 8));
    let (worker, request) = (home, RequestId(1_001));
    world.tell(&Event::Held {
        worker,
        request,
        of,
    });
    // Another one takes its place in the list, and is empty.
    world.tell(&Event::Left { worker });
    world.join("w9", 1.0);
    let release = world.fleet.release(world.now()).unwrap();
    assert_eq!(release.decision.worker, WorkerId::of("w9"));
    assert_eq!(release.decision.reason, Reason::Rebound);
}

#[test]
fn a_queue_of_others_that_is_empty_has_no_time() {
    let mut world = World::of(1, Settings::default());
    let (worker, request, of) = (WorkerId::of("w0"), RequestId(2), &keyed(1));
    world.tell(&Event::Held {
        worker,
        request,
        of,
    });
    let (running, waiting) = (Some(0), Some(0));
    world.report(
        worker,
        Report {
            running,
            waiting,
            ..Report::default()
        },
    );
    assert_eq!(
        world.fleet.next_release_at(),
        Some(At::from_micros(30_000_000))
    );
}
