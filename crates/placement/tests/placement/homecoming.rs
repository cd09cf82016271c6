//! Conversations come home to a worker that has come back, a few at a time.

use std::time::Duration;

use headwater_placement::{Event, KeySource, Reason, Request, Settings, WorkerId, WorkerState};

use crate::world::{World, echoing, keyed, prompt, signed};

/// Keys of conversations.
const KEYS: std::ops::Range<u64> = 0..400;

/// Four workers that have served for a while and have the conversations, one of them lost, its
/// conversations served elsewhere, and back with an empty cache. Gives its keys.
fn back_again(settings: Settings) -> (World, WorkerId, Vec<u64>) {
    let mut world = World::of(4, settings);
    world.ms = 60_000;
    let lost = WorkerId::of("w2");
    let serve = |world: &mut World, key| world.serve(&keyed(key)).worker;
    let homes: Vec<_> = KEYS.map(|key| (key, serve(&mut world, key))).collect();
    let mut own: Vec<u64> = homes.iter().filter(|h| h.1 == lost).map(|h| h.0).collect();
    own.sort_unstable();
    world.state(lost, WorkerState::Down);
    for key in &own {
        assert_ne!(serve(&mut world, *key), lost);
    }
    world.restart(lost, 9);
    world.state(lost, WorkerState::Ready);
    (world, lost, own)
}

fn at_home(world: &World, home: WorkerId, keys: &[u64]) -> usize {
    let is_home = |key: &&u64| world.place(&keyed(**key)).unwrap().worker == home;
    keys.iter().filter(is_home).count()
}

#[test]
fn what_went_elsewhere_comes_home_bit_by_bit() {
    let (mut world, lost, keys) = back_again(Settings::default());
    assert!(keys.len() > 60, "{}", keys.len());
    let mut at = |second: u64| {
        world.ms = 60_000 + second * 1_000;
        at_home(&world, lost, &keys)
    };
    let came: Vec<usize> = [0, 3, 6, 20].into_iter().map(&mut at).collect();
    assert_eq!((came[0], came[3]), (0, keys.len()));
    let share = |n: usize| n as f64 / keys.len() as f64;
    assert!((0.15..0.55).contains(&share(came[1])), "{came:?}");
    assert!(share(came[2]) > share(came[1]) + 0.15, "{came:?}");
}

#[test]
fn who_has_come_home_stays_and_so_does_who_chose_another_place_since() {
    let (mut world, lost, keys) = back_again(Settings::default());
    world.ms += 20_000;
    let first = world.serve(&keyed(keys[0]));
    assert_eq!((first.worker, first.reason), (lost, Reason::Home));
    let again = world.place(&keyed(keys[0])).unwrap();
    assert_eq!((again.worker, again.reason), (lost, Reason::Session));
    // Somebody sent this one elsewhere after home had come back.
    let other = world.candidates(&keyed(keys[1]))[1];
    let elsewhere = world.place(&keyed(keys[1])).unwrap().worker;
    assert_eq!(elsewhere, lost);
    world.state(lost, WorkerState::Down);
    let before = world.serve(&keyed(keys[1])).worker;
    assert_eq!(before, other);
}

/// As the router tells of it: found by its signature, with the key of the affinity header.
#[test]
fn a_signed_conversation_comes_home_whatever_its_key_is_called() {
    for source in [KeySource::Signature, KeySource::Affinity] {
        let mut world = World::of(4, Settings::default());
        let text = prompt(1, 3_000);
        let request = Request {
            key_source: source,
            ..signed(&text, 7)
        };
        let home = world.candidates(&request)[0];
        world.state(home, WorkerState::Down);
        let elsewhere = world.serve(&request).worker;
        world.restart(home, 9);
        world.state(home, WorkerState::Ready);
        assert_eq!(world.place(&request).unwrap().worker, elsewhere);
        world.ms += 20_000;
        let decision = world.place(&request).unwrap();
        assert_eq!(
            (decision.worker, decision.reason),
            (home, Reason::Home),
            "{source:?}"
        );
    }
}

#[test]
fn a_long_conversation_stays_where_it_is_warm() {
    let mut world = World::of(4, Settings::default());
    world.ms = 60_000;
    let text = prompt(1, 100_000);
    let home = world.candidates(&signed(&text, 7))[0];
    world.state(home, WorkerState::Down);
    let kept = world.serve(&signed(&text, 7)).worker;
    world.restart(home, 9);
    world.state(home, WorkerState::Ready);
    let place = |world: &World, text| world.place(&signed(text, 7)).unwrap().worker;
    for second in [20, 60, 601, 3_600] {
        world.ms = 60_000 + second * 1_000;
        assert_eq!(place(&world, &text), kept, "after {second} s");
    }
    // An echo is no younger than what it speaks of.
    let echo = echoing(text, world.tag(kept), 100_000);
    assert_eq!(place(&world, &echo), kept);
}

#[test]
fn nothing_is_drawn_when_the_rule_is_off_or_its_time_is_over() {
    let off = Settings {
        draw_ms: 0.0,
        ..Settings::default()
    };
    let short = Settings {
        draw_for: Duration::from_secs(1),
        ..Settings::default()
    };
    for settings in [off, short] {
        let (mut world, lost, keys) = back_again(settings);
        world.ms += 20_000;
        assert_eq!(at_home(&world, lost, &keys), 0);
    }
}

#[test]
fn a_worker_that_is_added_draws_its_keys_too() {
    let mut world = World::of(3, Settings::default());
    world.ms = 60_000;
    for key in KEYS {
        world.serve(&keyed(key));
    }
    world.join("w3", 1.0);
    let new = WorkerId::of("w3");
    let keys: Vec<u64> = KEYS
        .filter(|key| world.candidates(&keyed(*key))[0] == new)
        .collect();
    assert!(keys.len() > 60, "{}", keys.len());
    assert_eq!(at_home(&world, new, &keys), 0);
    world.ms += 20_000;
    assert_eq!(at_home(&world, new, &keys), keys.len());
    // What prefers another worker stays there.
    assert_eq!(at_home(&world, new, &KEYS.collect::<Vec<_>>()), keys.len());
    world.tell(&Event::Left { worker: new });
    assert_eq!(at_home(&world, new, &keys), 0);
}
