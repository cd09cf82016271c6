//! Workers whose KV memory is full.

use headwater_placement::{Event, Report, Settings, WorkerId};

use crate::world::{World, named, signed};

/// Two workers with room for 100,000 tokens, and answers that stream for ten seconds. One holds a
/// prompt of 30,000 and answers so many branches of it; who gets the next one?
fn after_branches(branches: u64, kv_use: Option<f64>) -> WorkerId {
    let mut world = World::of(2, Settings::default());
    let [holder, other] = ["w0", "w1"].map(WorkerId::of);
    for worker in [holder, other] {
        let cache_tokens = Some(100_000);
        world.report(
            worker,
            Report {
                cache_tokens,
                ..Report::default()
            },
        );
    }
    let branch = |at: u64| named(1, 30_000 + u32::try_from(at).unwrap() * 16, &[1_875]);
    let first = branch(0);
    let request = world.send_to(holder, &signed(&first, 1));
    world.ms += 2_000;
    world.tell(&Event::FirstByte {
        worker: holder,
        request,
    });
    world.ms += 10_000;
    world.tell(&Event::Finished {
        worker: holder,
        request,
    });
    for at in 1..=branches {
        let request = world.send_to(holder, &signed(&branch(at), 1 + at));
        world.tell(&Event::FirstByte {
            worker: holder,
            request,
        });
    }
    if let Some(kv_use) = kv_use {
        (0..50).for_each(|_| world.kv(holder, kv_use));
    }
    world.place(&signed(&branch(9), 99)).unwrap().worker
}

#[test]
fn whoever_has_no_room_for_another_branch_does_not_get_it() {
    let [holder, other] = ["w0", "w1"].map(WorkerId::of);
    assert_eq!(after_branches(2, None), holder);
    // 150,000 tokens of 100,000 would wait for seconds; computing it elsewhere takes two.
    assert_eq!(after_branches(5, None), other);
    // But not where the engine says that they share most of it.
    assert_eq!(after_branches(5, Some(0.35)), holder);
}
