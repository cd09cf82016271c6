//! Policies against what their sources say, on a handful of workers.

use super::*;
use crate::engine::Engine;
use crate::profile::Profile;
use crate::trace::{Arrival, Call, Node, Trace};
use crate::view::Seat;
use headwater_placement::Settings;

/// Asks a policy for requests in turn, under loads that the test sets.
struct Table {
    trace: Trace,
    seats: Vec<Seat>,
    policy: Box<dyn Policy>,
}

impl Table {
    /// Prompts of four blocks of 16 tokens: the session, and the node that each path begins with.
    fn new(name: PolicyName, workers: usize, prompts: &[(u32, u32)]) -> Self {
        Self::with_blocks(16, name, workers, prompts)
    }

    /// The same with blocks of so many tokens.
    fn with_blocks(block: u32, name: PolicyName, workers: usize, prompts: &[(u32, u32)]) -> Self {
        let mut trace = Trace::new(block);
        for (session, first) in prompts {
            let call = Call {
                arrival: Arrival::AtMs(0.0),
                input_tokens: 4 * block + 1,
                output_tokens: 1,
                session: *session,
                turn: 0,
            };
            trace.push(call, (0..4).map(|at| Node(first * 10 + at)), [2, 4]);
        }
        let settings = Settings::default();
        let setting = Setting {
            trace: &trace,
            workers,
            router: 0,
            seed: 1,
            ours: (&settings, HeadwaterOptions::default()),
        };
        let policy = name.build(&setting).unwrap();
        let seat = Seat {
            ready: true,
            ..Seat::default()
        };
        Self {
            trace,
            seats: vec![seat; workers],
            policy,
        }
    }

    fn ask(&mut self, request: usize) -> Route {
        let profile = Profile::built_in("large").unwrap();
        let engines: Vec<_> = self
            .seats
            .iter()
            .map(|_| Engine::new(&profile, 16, 1_000))
            .collect();
        let view = View {
            now_ms: 0.0,
            seats: &self.seats,
            engines: &engines,
            trace: &self.trace,
            profile: &profile,
            echoes: &[],
        };
        match self.policy.route(&view, request) {
            Verdict::Send(route) => route,
            other => panic!("{other:?}"),
        }
    }

    fn load(&mut self, active: &[u32]) {
        for (seat, active) in self.seats.iter_mut().zip(active) {
            (seat.own_active, seat.own_waiting) = (*active, *active);
        }
    }
}

#[test]
fn round_robin_takes_turns_and_passes_over_who_is_not_ready() {
    let mut table = Table::new(PolicyName::RoundRobin, 3, &[(0, 0)]);
    table.seats[1].ready = false;
    let order: Vec<usize> = (0..4).map(|_| table.ask(0).worker).collect();
    assert_eq!(order, [0, 2, 0, 2]);
}

#[test]
fn least_requests_and_power_of_two_look_at_load() {
    let mut table = Table::new(PolicyName::LeastRequests, 3, &[(0, 0)]);
    table.load(&[4, 1, 2]);
    assert_eq!(table.ask(0).worker, 1);
    let mut table = Table::new(PolicyName::PowerOfTwo, 2, &[(0, 0)]);
    table.load(&[9, 0]);
    let lighter = (0..100).filter(|_| table.ask(0).worker == 1).count();
    // The heavier one is taken only if it is drawn twice.
    assert!((60..90).contains(&lighter), "{lighter}");
}

#[test]
fn a_session_stays_until_its_worker_is_over_sixteen() {
    for (name, spills) in [
        (PolicyName::SessionHash, false),
        (PolicyName::SessionRing16, true),
    ] {
        let mut table = Table::new(name, 4, &[(7, 0), (7, 5)]);
        let home = table.ask(0).worker;
        assert_eq!(table.ask(1).worker, home, "{name}");
        table.seats[home].own_active = 16;
        assert_eq!(table.ask(0).worker, home, "{name}");
        table.seats[home].own_active = 17;
        assert_eq!(table.ask(0).worker != home, spills, "{name}");
    }
}

#[test]
fn a_system_prompt_stays_together() {
    let mut table = Table::new(PolicyName::SystemHash, 8, &[(1, 3), (2, 3), (3, 3)]);
    let workers: Vec<usize> = (0..3).map(|request| table.ask(request).worker).collect();
    assert!(workers.iter().all(|worker| *worker == workers[0]));
}

#[test]
fn displaced_keys_of_vllm_go_to_the_first_that_is_ready() {
    let prompts: Vec<(u32, u32)> = (0..40).map(|session| (session, session)).collect();
    let mut table = Table::new(PolicyName::VllmConsistentHash, 4, &prompts);
    let homes: Vec<usize> = (0..40).map(|request| table.ask(request).worker).collect();
    table.seats[2].ready = false;
    for (request, home) in homes.iter().enumerate() {
        let expected = if *home == 2 { 0 } else { *home };
        assert_eq!(table.ask(request).worker, expected);
    }
}

#[test]
fn bounded_loads_walk_on_at_a_quarter_over_the_mean() {
    let mut table = Table::new(PolicyName::Chwbl, 4, &[(0, 0)]);
    let home = table.ask(0).worker;
    // A mean of (15 + 1) / 4 = 4, so 5 is the bound.
    let loads = |at_home: u32| {
        (0..4)
            .map(|worker| {
                if worker == home {
                    at_home
                } else {
                    (15 - at_home) / 3
                }
            })
            .collect::<Vec<_>>()
    };
    table.load(&loads(3));
    assert_eq!(table.ask(0).worker, home);
    table.load(&loads(6));
    let spilled = table.ask(0);
    assert_eq!((spilled.worker != home, spilled.reason), (true, "spill"));
}

#[test]
fn sglang_matches_until_the_fleet_is_uneven() {
    let mut table = Table::new(PolicyName::Sglang, 3, &[(0, 0), (1, 0), (2, 9)]);
    let first = table.ask(0);
    assert_eq!(first.reason, "smallest_tree");
    let second = table.ask(1);
    assert_eq!(
        (second.worker, second.reason, second.cached_tokens),
        (first.worker, "match", 64)
    );
    assert_ne!(
        table.ask(2).worker,
        first.worker,
        "the next tree is smaller"
    );
    // 65 more than the least, and over 1.5 times it.
    let mut loads = [0, 0, 0];
    loads[first.worker] = 64;
    table.load(&loads);
    assert_eq!(table.ask(1).reason, "match");
    loads[first.worker] = 65;
    table.load(&loads);
    assert_eq!(table.ask(1).reason, "uneven");
}

#[test]
fn ray_takes_the_shortest_queue_among_holders() {
    let mut table = Table::new(PolicyName::Ray, 3, &[(0, 0), (1, 0)]);
    let first = table.ask(0).worker;
    table.seats[first].own_active = 10;
    assert_eq!((table.ask(1).worker, table.ask(1).reason), (first, "match"));
    table.seats[first].own_active = 11;
    assert_eq!(table.ask(1).reason, "uneven");
}

#[test]
fn dynamo_weighs_prefill_against_decode() {
    // 600 tokens wait at 0, 1,500 are held at 1: equal to Dynamo only if prefill counts 2.5 times.
    for (name, expected) in [(PolicyName::Dynamo, 0), (PolicyName::DynamoTuned, 1)] {
        let mut table = Table::new(name, 2, &[(0, 0)]);
        table.seats[0].pending_tokens = 600;
        table.seats[1].kv_tokens = 1_500;
        assert_eq!(table.ask(0).worker, expected, "{name}");
    }
}

#[test]
fn llm_d_adds_up_match_queue_and_cache() {
    let mut table = Table::new(PolicyName::LlmD, 2, &[(0, 0), (1, 0)]);
    let first = table.ask(0).worker;
    assert_eq!(table.ask(1).worker, first, "a match is worth 3");
    // The longer queue takes 2 and a full cache 2: more than the match.
    table.load(if first == 0 { &[9, 0] } else { &[0, 9] });
    assert_eq!(table.ask(1).worker, first);
    table.seats[first].kv_tokens = 1_000;
    assert_ne!(table.ask(1).worker, first);
}

#[test]
fn preble_exploits_what_is_mostly_cached() {
    let mut table = Table::new(PolicyName::Preble, 2, &[(0, 0), (1, 0), (2, 5)]);
    let first = table.ask(0);
    assert_eq!(first.reason, "explore");
    let second = table.ask(1);
    assert_eq!((second.worker, second.reason), (first.worker, "exploit"));
    let third = table.ask(2);
    assert_eq!(
        (third.worker != first.worker, third.reason),
        (true, "explore")
    );
}

#[test]
fn ours_follows_what_it_has_sent() {
    let mut table = Table::with_blocks(1_024, PolicyName::HeadwaterNoHold, 3, &[(0, 0), (1, 0)]);
    let news = |worker| News::Worker {
        worker,
        standing: Standing::Ready,
        life: 1,
    };
    let profile = Profile::built_in("large").unwrap();
    let engines: Vec<_> = (0..3).map(|_| Engine::new(&profile, 16, 1_000)).collect();
    let view = View {
        now_ms: 0.0,
        seats: &table.seats,
        engines: &engines,
        trace: &table.trace,
        profile: &profile,
        echoes: &[],
    };
    for worker in 0..3 {
        table.policy.hear(&view, &news(worker));
    }
    let first = table.ask(0);
    let second = table.ask(1);
    assert_eq!(
        (second.worker, second.reason, second.cached_tokens),
        (first.worker, "resident", 4_096)
    );
}

#[test]
fn names_are_read_back() {
    for name in PolicyName::ALL {
        assert_eq!(name.as_str().parse(), Ok(name));
    }
    let error = "best".parse::<PolicyName>().unwrap_err().to_string();
    assert!(
        error.starts_with("no policy is called `best`; there are: headwater, "),
        "{error}"
    );
}
