//! One story for each reason, and for each way to find nobody.

use headwater_placement::{
    Event, KeySource, NoWorker, Policy, Reason, Report, Request, RequestId, Settings, WorkerId,
    WorkerState,
};

use crate::world::{World, echoing, keyed, named, prompt, signed};

fn four() -> World {
    World::of(4, Settings::default())
}

#[test]
fn home_is_where_a_new_conversation_goes() {
    let (text, world) = (prompt(1, 10_000), four());
    let decision = world.place(&signed(&text, 42)).unwrap();
    assert_eq!(
        (decision.reason, decision.matched_tokens),
        (Reason::Home, 0)
    );
    let order = world.candidates(&signed(&text, 42));
    assert_eq!((order.len(), order[0]), (4, decision.worker));
    // The idle fleet's model: 8 ms, 0.06 ms a token, and attention.
    assert!(
        (decision.expected_ms - 638.0).abs() < 1e-9,
        "{}",
        decision.expected_ms
    );

    // Another router agrees, whatever it has seen, and on the next candidate as well.
    let mut other = four();
    for key in 1_000..1_005 {
        other.serve(&keyed(key));
    }
    assert_eq!(other.place(&signed(&text, 42)), Ok(decision));
    let (home, next) = (order[0], order[1]);
    other.state(home, WorkerState::Down);
    assert_eq!(other.place(&signed(&text, 42)).unwrap().worker, next);
}

#[test]
fn cold_is_a_new_conversation_whose_home_is_busy() {
    let (text, long, mut world) = (prompt(1, 10_000), prompt(2, 50_000), four());
    let home = world.place(&signed(&text, 42)).unwrap().worker;
    world.send_to(home, &signed(&long, 7));
    let decision = world.place(&signed(&text, 42)).unwrap();
    assert_eq!(decision.reason, Reason::Cold);
    assert_ne!(decision.worker, home);
}

#[test]
fn resident_follows_a_prefix_from_the_moment_it_is_sent() {
    let mut world = four();
    let (first, longer) = (
        named(1, 10_000, &[64, 625]),
        named(1, 12_000, &[64, 625, 750]),
    );
    let (sent, _) = world.send(&signed(&first, 42));
    // Another key, the same text: the first byte has not come yet.
    let decision = world.place(&signed(&longer, 43)).unwrap();
    assert_eq!(
        (decision.worker, decision.reason),
        (sent.worker, Reason::Resident)
    );
    assert_eq!(decision.matched_tokens, 625 * 16);
    // The same hash under another scheme is another text.
    let foreign = named(2, 12_000, &[64, 625, 750]);
    assert_eq!(
        world.place(&signed(&foreign, 43)).unwrap().matched_tokens,
        0
    );
}

#[test]
fn resident_is_given_up_when_waiting_costs_more_than_a_miss() {
    let mut world = four();
    let (text, other) = (prompt(1, 1_600), prompt(2, 100_000));
    let warm = world.serve(&signed(&text, 42)).worker;
    assert_eq!(world.place(&signed(&text, 42)).unwrap().worker, warm);
    world.send_to(warm, &signed(&other, 7));
    assert_ne!(world.place(&signed(&text, 42)).unwrap().worker, warm);
}

#[test]
fn echo_finds_a_conversation_that_another_router_placed() {
    let (text, mut world) = (prompt(1, 10_000), four());
    let home = world.place(&signed(&text, 42)).unwrap().worker;
    let served = world
        .fleet
        .workers()
        .map(|w| w.id)
        .find(|id| *id != home)
        .unwrap();
    let next = echoing(text, world.tag(served), 9_001);
    let decision = world.place(&signed(&next, 42)).unwrap();
    assert_eq!((decision.worker, decision.reason), (served, Reason::Echo));
    assert_eq!(decision.matched_tokens, 9_001 / 16 * 16);
    // A claim of more than the prompt is worth the prompt, less its last token.
    let boast = echoing(text, world.tag(served), u32::MAX);
    assert_eq!(
        world.place(&signed(&boast, 42)).unwrap().matched_tokens,
        9_984
    );

    // The worker restarted: its tag is another one, the old echo means nothing.
    world.restart(served, 1);
    let decision = world.place(&signed(&next, 42)).unwrap();
    assert_eq!((decision.worker, decision.reason), (home, Reason::Home));
}

#[test]
fn session_keeps_a_conversation_without_names_together() {
    let mut world = four();
    let home = world.place(&keyed(42)).unwrap();
    assert_eq!(home.reason, Reason::Home);
    let elsewhere = world.candidates(&keyed(42))[2];
    let id = world.send_to(elsewhere, &keyed(42));
    world.finish(elsewhere, id);
    let decision = world.place(&keyed(42)).unwrap();
    assert_eq!(
        (decision.worker, decision.reason),
        (elsewhere, Reason::Session)
    );
    assert_eq!(decision.matched_tokens, 0, "nobody knows how many");
    assert_eq!(world.place(&keyed(43)).unwrap().reason, Reason::Home);
}

#[test]
fn spill_queue_goes_to_the_next_candidate_with_room() {
    let mut world = four();
    let text = prompt(1, 2_400);
    let request = signed(&text, 42);
    let warm = world.serve(&request).worker;
    (0..16).for_each(|_| stream(&mut world, warm, &request));
    let decision = world.place(&request).unwrap();
    assert_eq!(decision.reason, Reason::SpillQueue);
    // The home of the key is the warm one here; the next in its order takes over,
    let order = World::of(4, Settings::default()).candidates(&request);
    let [home, next, third, _] = order[..] else {
        panic!("four")
    };
    assert_eq!((home, decision.worker), (warm, next));
    // unless it is not better by the gap; then it is the one after it.
    for _ in 0..15 {
        stream(&mut world, next, &keyed(7));
    }
    assert_eq!(world.place(&request).unwrap().worker, third);
}

#[test]
fn what_costs_too_much_elsewhere_stays_with_a_full_worker() {
    let mut world = four();
    let text = prompt(1, 10_000);
    let request = signed(&text, 42);
    let warm = world.serve(&request).worker;
    (0..16).for_each(|_| stream(&mut world, warm, &request));
    let decision = world.place(&request).unwrap();
    assert_eq!((decision.worker, decision.reason), (warm, Reason::Resident));
}

#[test]
fn a_short_prompt_that_leaves_a_full_worker_says_so() {
    // So short that it costs less to compute anew than to wait: the cheapest is another worker
    // long before the limit, and the reason must still name what happened.
    let mut world = four();
    let text = prompt(1, 200);
    let request = signed(&text, 42);
    let warm = world.serve(&request).worker;
    let reason = |world: &World| {
        let decision = world.place(&request).unwrap();
        (decision.worker == warm, decision.reason)
    };
    assert_eq!(reason(&world), (true, Reason::Resident));
    (0..8).for_each(|_| stream(&mut world, warm, &request));
    assert_eq!(reason(&world), (false, Reason::SpillCost));
    (0..8).for_each(|_| stream(&mut world, warm, &request));
    assert_eq!(reason(&world), (false, Reason::SpillQueue));
}

#[test]
fn affinity_survives_when_everybody_is_busy() {
    let mut world = World::of(2, Settings::default());
    let request = keyed(42);
    let [warm, other] = world.candidates(&request)[..] else {
        panic!("two")
    };
    (0..19).for_each(|_| stream(&mut world, warm, &request));
    (0..13).for_each(|_| stream(&mut world, other, &keyed(7)));
    // 20 are over the limit of 16, but not over 1.25 times the share of 16.5.
    assert_eq!(world.place(&request).unwrap().reason, Reason::Session);
    (0..2).for_each(|_| stream(&mut world, warm, &request));
    assert_eq!(world.place(&request).unwrap().reason, Reason::SpillQueue);
    // With everybody over the limit the warm one keeps it, however unfair.
    (0..3).for_each(|_| stream(&mut world, other, &keyed(7)));
    (0..5).for_each(|_| stream(&mut world, warm, &request));
    let decision = world.place(&request).unwrap();
    assert_eq!((decision.worker, decision.reason), (warm, Reason::Session));
}

/// A request whose answer has begun: it counts as in flight and has no prefill left.
fn stream(world: &mut World, worker: WorkerId, request: &Request<'_>) {
    let request = world.send_to(worker, request);
    world.tell(&Event::FirstByte { worker, request });
}

#[test]
fn near_ties_go_home() {
    let mut world = four();
    let text = prompt(1, 10_000);
    let home = world.place(&signed(&text, 42)).unwrap().worker;
    stream(&mut world, home, &keyed(7));
    let decision = world.place(&signed(&text, 42)).unwrap();
    assert_eq!((decision.worker, decision.reason), (home, Reason::Home));
    stream(&mut world, home, &keyed(7));
    assert_eq!(
        world.place(&signed(&text, 42)).unwrap().reason,
        Reason::Cold
    );

    // A worker that holds more is no tie, little as it may be.
    let (mut world, short) = (four(), prompt(1, 40));
    let away = world.candidates(&signed(&short, 42))[1];
    let id = world.send_to(away, &signed(&short, 42));
    world.finish(away, id);
    let decision = world.place(&signed(&short, 42)).unwrap();
    assert_eq!((decision.worker, decision.matched_tokens), (away, 32));
}

#[test]
fn queues_of_other_routers_count_while_their_report_is_fresh() {
    let mut world = four();
    let text = prompt(1, 2_400);
    let request = signed(&text, 42);
    let warm = world.serve(&request).worker;
    world.report(
        warm,
        Report {
            running: Some(40),
            ..Report::default()
        },
    );
    assert_eq!(world.place(&request).unwrap().reason, Reason::SpillQueue);
    world.ms += 1_501;
    assert_eq!(world.place(&request).unwrap().reason, Reason::Resident);
    // Our own are not counted twice: 40 reported and 40 of ours are 40.
    let ids: Vec<_> = (0..40).map(|_| world.send_to(warm, &request)).collect();
    world.report(
        warm,
        Report {
            running: Some(40),
            ..Report::default()
        },
    );
    ids.into_iter().for_each(|id| world.finish(warm, id));
    assert_eq!(world.place(&request).unwrap().reason, Reason::Resident);
}

#[test]
fn spill_hot_keeps_new_prompts_off_a_full_cache() {
    let mut world = four();
    let (old, new) = (prompt(1, 10_000), prompt(2, 10_000));
    let home = world.serve(&signed(&old, 42)).worker;
    world.kv(home, 0.85);
    let decision = world.place(&signed(&new, 42)).unwrap();
    assert_eq!(decision.reason, Reason::SpillHot);
    assert_ne!(decision.worker, home);
    // What it holds, it keeps; a small part in common is not enough.
    assert_eq!(world.place(&signed(&old, 42)).unwrap().worker, home);
    let head = named(1, 10_000, &[156, 600]);
    assert_eq!(
        world.place(&signed(&head, 42)).unwrap().reason,
        Reason::SpillHot
    );

    // Between the marks it stays hot, below the low one it is normal again.
    world.ms = 1_000;
    world.kv(home, 0.66);
    assert_eq!(
        world.place(&signed(&new, 42)).unwrap().reason,
        Reason::SpillHot
    );
    world.kv(home, 0.65);
    assert_eq!(world.place(&signed(&new, 42)).unwrap().worker, home);
}

#[test]
fn with_everybody_hot_requests_are_still_placed() {
    let mut world = four();
    let text = prompt(1, 10_000);
    let home = world.place(&signed(&text, 42)).unwrap();
    let all: Vec<WorkerId> = world.fleet.workers().map(|w| w.id).collect();
    all.iter().for_each(|id| world.kv(*id, 0.99));
    assert!(world.fleet.workers().all(|w| w.hot));
    assert_eq!(world.place(&signed(&text, 42)), Ok(home));
}

#[test]
fn what_cannot_be_is_not_a_sample() {
    let mut world = four();
    let home = world.place(&keyed(42)).unwrap().worker;
    for wrong in [1.01, -0.1, f64::NAN, f64::INFINITY] {
        world.kv(home, wrong);
        let view = world.fleet.worker(home).unwrap();
        assert_eq!(
            (view.hot, view.reported.unwrap().kv_use),
            (false, None),
            "{wrong}"
        );
    }
    // A report without the metric, or with a wrong one, leaves a hot worker hot.
    world.kv(home, 0.9);
    world.report(
        home,
        Report {
            running: Some(1),
            ..Report::default()
        },
    );
    world.kv(home, -1.0);
    assert!(world.fleet.worker(home).unwrap().hot);
    // After the sample has gone stale it is unknown.
    world.ms += 1_501;
    assert_eq!(world.place(&keyed(42)).unwrap().worker, home);
}

#[test]
fn retry_never_goes_back() {
    let mut world = four();
    let text = prompt(1, 10_000);
    let (first, id) = world.send(&signed(&text, 42));
    world.fail(first.worker, id);
    let mut tried = vec![first.worker];
    for _ in 0..3 {
        let request = Request {
            excluded: &tried,
            ..signed(&text, 42)
        };
        let decision = world.place(&request).unwrap();
        assert_eq!(decision.reason, Reason::Retry);
        let order = world.candidates(&request);
        assert!(order.iter().all(|id| !tried.contains(id)));
        tried.push(decision.worker);
    }
    let request = Request {
        excluded: &tried,
        ..signed(&text, 42)
    };
    assert_eq!(world.place(&request), Err(NoWorker::AllTried));
}

#[test]
fn least_loaded_spreads_what_nothing_is_known_of() {
    let short = prompt(1, 15);
    for request in [Request::ANONYMOUS, signed(&short, 42)] {
        let mut world = four();
        let mut seen: Vec<WorkerId> = (0..4).map(|_| world.serve(&request).worker).collect();
        assert_eq!(world.place(&request).unwrap().reason, Reason::LeastLoaded);
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 4, "each has had its turn");
        // A busy one is passed over.
        let busy = world.place(&request).unwrap().worker;
        world.send_to(busy, &request);
        assert_ne!(world.place(&request).unwrap().worker, busy);
    }
}

#[test]
fn round_robin_takes_turns() {
    let mut world = World::of(
        3,
        Settings {
            policy: Policy::RoundRobin,
            ..Settings::default()
        },
    );
    let served: Vec<_> = (0..6).map(|_| world.serve(&keyed(42))).collect();
    assert!(served.iter().all(|d| d.reason == Reason::RoundRobin));
    let ids: Vec<_> = served.iter().map(|d| d.worker).collect();
    assert_eq!(ids[..3], ids[3..]);
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
}

#[test]
fn least_requests_counts_by_weight() {
    let settings = Settings {
        policy: Policy::LeastRequests,
        ..Settings::default()
    };
    let mut world = World::of(2, settings);
    world.join("big", 2.0);
    let decisions: Vec<_> = (0..8).map(|_| world.send(&keyed(42)).0).collect();
    assert!(decisions.iter().all(|d| d.reason == Reason::LeastLoaded));
    let count = |name| {
        decisions
            .iter()
            .filter(|d| d.worker == WorkerId::of(name))
            .count()
    };
    assert_eq!((count("w0"), count("w1"), count("big")), (2, 2, 4));
}

#[test]
fn nobody_is_told_apart() {
    let mut world = World::of(
        0,
        Settings {
            hard_cap: Some(16),
            ..Settings::default()
        },
    );
    assert_eq!(world.place(&keyed(1)), Err(NoWorker::Empty));
    world.join("w0", 1.0);
    let worker = WorkerId::of("w0");
    for state in [WorkerState::Down, WorkerState::Draining] {
        world.state(worker, state);
        assert_eq!(world.place(&keyed(1)), Err(NoWorker::NoneReady));
    }
    world.state(worker, WorkerState::Starting);
    assert_eq!(
        world.place(&keyed(1)).unwrap().worker,
        worker,
        "better than nobody"
    );
    let ids: Vec<RequestId> = (0..16).map(|_| world.send(&keyed(1)).1).collect();
    assert_eq!(world.place(&keyed(1)), Err(NoWorker::Full));
    world.finish(worker, ids[0]);
    assert!(world.place(&keyed(1)).is_ok());
    // Once another one is ready, the starting one gets nothing.
    world.join("w1", 1.0);
    (0..10)
        .for_each(|key| assert_eq!(world.place(&keyed(key)).unwrap().worker, WorkerId::of("w1")));
}

#[test]
fn a_home_prior_makes_routers_agree_that_share_nothing() {
    let text = prompt(1, 10_000);
    let home = four().place(&signed(&text, 42)).unwrap().worker;
    let busy_home = |home_prior| {
        let mut world = World::of(
            4,
            Settings {
                home_prior,
                routers: 2,
                ..Settings::default()
            },
        );
        let work = prompt(2, 12_000);
        world.send_to(home, &signed(&work, 7));
        world
    };
    // The home's queue drives a new conversation away, unless it is taken to live there.
    let place = |world: &World, request| world.place(&request).unwrap();
    assert_ne!(place(&busy_home(0.0), signed(&text, 42)).worker, home);
    let mut world = busy_home(0.8);
    let decision = place(&world, signed(&text, 42));
    assert_eq!((decision.worker, decision.reason), (home, Reason::Home));
    assert_eq!(decision.matched_tokens, 0, "a guess is not told");

    // The head of a body is no conversation, and what is known outweighs a guess.
    let body = Request {
        key_source: KeySource::Body,
        ..signed(&text, 42)
    };
    assert_ne!(place(&world, body).worker, home);
    let other = place(&world, body).worker;
    let id = world.send_to(other, &signed(&text, 42));
    world.finish(other, id);
    assert_eq!(place(&world, signed(&text, 42)).worker, other);
    // A turn that has nothing of it was with others since, and they send it home.
    let later = named(3, 20_000, &[1_250]);
    assert_eq!(place(&world, signed(&later, 42)).worker, home);
}

/// With everybody waiting for it a second copy of a prefix looks dear, and is worth its time.
#[test]
fn a_short_prefix_that_many_wait_for_spreads() {
    let mut world = World::of(4, Settings::default());
    let text = prompt(1, 3_051);
    let mut sent = std::collections::BTreeMap::new();
    for _ in 0..160 {
        *sent
            .entry(world.send(&signed(&text, 7)).0.worker)
            .or_insert(0) += 1;
    }
    let busiest = sent.values().max().unwrap();
    assert!(*busiest <= 64, "{sent:?}");
}
