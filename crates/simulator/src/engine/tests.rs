//! The worker model against numbers worked out by hand.

use proptest::prelude::*;

use super::*;
use crate::trace::{Arrival, Call};

/// 10 ms and 1 ms a token to prefill, chunks of 8; 2 ms a step and 1 ms a request; two at a time.
const PROFILE: &str = "
name: tiny
prefill: { fixed_ms: 10, token_ms: 1, pair_ms: 0, chunk_tokens: 8 }
decode: { fixed_ms: 2, request_ms: 1, kv_token_ms: 0 }
max_running: 2
cache_tokens: 64
";

fn trace(calls: &[(u32, u32, &[u32])]) -> Trace {
    let mut trace = Trace::new(4);
    for (input_tokens, output_tokens, path) in calls {
        let call = Call {
            arrival: Arrival::AtMs(0.0),
            input_tokens: *input_tokens,
            output_tokens: *output_tokens,
            session: 0,
            turn: 0,
        };
        trace.push(call, path.iter().copied().map(Node), []);
    }
    trace
}

fn job(trace: &Trace, request: u32) -> Job {
    let call = &trace.calls()[request as usize];
    Job {
        request,
        input_tokens: call.input_tokens,
        output_tokens: call.output_tokens,
        granted_tokens: None,
    }
}

/// Sends each request at its time and returns (ms, request, hit tokens or none for the end).
fn live(profile: &Profile, trace: &Trace, sent: &[(f64, u32)]) -> Vec<(f64, u32, Option<u32>)> {
    let mut engine = Engine::new(profile, trace.block_tokens(), profile.cache_tokens);
    let mut happened = Vec::new();
    for (at_ms, request) in sent {
        engine.advance(*at_ms, trace, &mut happened);
        engine.enqueue(*at_ms, job(trace, *request), trace);
    }
    engine.advance(1e9, trace, &mut happened);
    assert_eq!(
        (engine.running(), engine.waiting(), engine.kv_use()),
        (0, 0, 0.0)
    );
    happened
        .iter()
        .map(|h| match h.what {
            Milestone::FirstToken { hit_tokens } => (h.at_ms, h.request, Some(hit_tokens)),
            Milestone::Finished => (h.at_ms, h.request, None),
        })
        .collect()
}

#[test]
fn one_request_is_prefilled_and_decoded() {
    let (profile, trace) = (
        Profile::from_yaml(PROFILE).unwrap(),
        trace(&[(8, 3, &[0, 1])]),
    );
    // 10 + 8 ms, then two steps of 3 ms.
    assert_eq!(
        live(&profile, &trace, &[(5.0, 0)]),
        [(23.0, 0, Some(0)), (29.0, 0, None)]
    );
}

#[test]
fn a_second_one_waits_for_the_step_and_hits() {
    let profile = Profile::from_yaml(PROFILE).unwrap();
    let trace = trace(&[(8, 11, &[0, 1]), (12, 1, &[0, 1, 2])]);
    // The first answers from 18 on, a step of 3 ms each. At 19 the second comes: it begins at 21
    // and takes 10 + 4 ms, in one chunk, with one step of the first in it. After 35 the first has
    // made two steps of ten, and is alone again: eight more of 3 ms.
    assert_eq!(
        live(&profile, &trace, &[(0.0, 0), (19.0, 1)]),
        [
            (18.0, 0, Some(0)),
            (35.0, 1, Some(8)),
            (35.0, 1, None),
            (59.0, 0, None)
        ]
    );
}

#[test]
fn answers_advance_a_step_with_each_chunk() {
    let profile = Profile::from_yaml(PROFILE).unwrap();
    let trace = trace(&[(4, 3, &[0]), (32, 1, &[1, 2, 3, 4, 5, 6, 7, 8])]);
    // The second begins at 14 and takes 42 ms in four chunks; the first ends with the second of them.
    assert_eq!(
        live(&profile, &trace, &[(0.0, 0), (14.0, 1)]),
        [
            (14.0, 0, Some(0)),
            (35.0, 0, None),
            (56.0, 1, Some(0)),
            (56.0, 1, None)
        ]
    );
}

#[test]
fn the_running_limit_and_the_cache_hold_the_queue() {
    let profile = Profile::from_yaml(PROFILE).unwrap();
    let check = |calls: &[(u32, u32, &[u32])], last_first_token: f64| {
        let trace = trace(calls);
        let sent: Vec<(f64, u32)> = (0..calls.len()).map(|r| (0.0, r as u32)).collect();
        let all = live(&profile, &trace, &sent);
        let last = all.iter().filter(|h| h.2.is_some()).next_back().unwrap();
        assert_eq!(last.0, last_first_token, "{all:?}");
    };
    // Two at a time: 0 at 14, 1 at 28 (0 has made one of its three steps), then steps of 4 ms: 0
    // ends at 36, and 2 follows with 14 ms.
    check(&[(4, 4, &[0]), (4, 9, &[1]), (4, 1, &[2])], 50.0);
    // 40 + 30 tokens do not fit into 64: the second waits until the first is over at 59.
    check(&[(40, 4, &[]), (20, 10, &[])], 89.0);
    // Alone, anything may begin.
    check(&[(400, 1, &[])], 410.0);
}

#[test]
fn running_requests_keep_their_blocks() {
    let profile = Profile::from_yaml(PROFILE).unwrap();
    let check = |answer: u32, expected: u32| {
        let trace = trace(&[
            (8, answer, &[0, 1]),
            (24, 1, &[10, 11, 12, 13, 14, 15]),
            (24, 1, &[20, 21, 22, 23, 24, 25]),
            (24, 1, &[30, 31, 32, 33, 34, 35]),
            (8, 1, &[0, 1]),
        ]);
        let sent = [(0.0, 0), (18.0, 1), (52.0, 2), (86.0, 3), (120.0, 4)];
        let all = live(&profile, &trace, &sent);
        let last = all.iter().find(|h| h.1 == 4 && h.2.is_some()).unwrap();
        assert_eq!(last.2, Some(expected), "{all:?}");
    };
    // Of 16 blocks the three in the middle want 18: what is not in use makes room.
    check(30, 7);
    check(1, 0);
}

#[test]
fn a_crash_loses_everything() {
    let profile = Profile::from_yaml(PROFILE).unwrap();
    let trace = trace(&[(8, 30, &[0, 1]), (8, 3, &[0, 1]), (8, 3, &[0, 1])]);
    let mut engine = Engine::new(&profile, 4, 64);
    let mut happened = Vec::new();
    engine.enqueue(0.0, job(&trace, 0), &trace);
    engine.advance(20.0, &trace, &mut happened);
    engine.enqueue(20.0, job(&trace, 1), &trace);
    engine.advance(22.0, &trace, &mut happened);
    engine.enqueue(22.0, job(&trace, 2), &trace);
    assert_eq!((engine.running(), engine.waiting()), (2, 1));
    assert_eq!(engine.crash(), [1, 2, 0]);
    assert_eq!(
        (engine.next_ms(), engine.held_blocks(trace.path(0))),
        (None, 0)
    );
}

#[test]
fn pressure_takes_room() {
    let profile = Profile::from_yaml(PROFILE).unwrap();
    let trace = trace(&[(8, 1, &[0, 1]), (8, 1, &[2, 3])]);
    let mut engine = Engine::new(&profile, 4, 64);
    engine.press(0.75);
    assert_eq!(engine.kv_use(), 0.75);
    for (at, request) in [(0.0, 0), (100.0, 1)] {
        engine.enqueue(at, job(&trace, request), &trace);
        engine.advance(at + 50.0, &trace, &mut Vec::new());
    }
    assert_eq!(
        (
            engine.held_blocks(trace.path(0)),
            engine.held_blocks(trace.path(1))
        ),
        (2, 2)
    );
    engine.press(0.9);
    assert_eq!(
        (
            engine.held_blocks(trace.path(0)),
            engine.held_blocks(trace.path(1))
        ),
        (0, 1)
    );
}

proptest! {
    #[test]
    fn every_request_ends_once_and_time_goes_forward(
        calls in prop::collection::vec((1_u32..60, 0_u32..20, 0_u32..4, 0.0_f64..200.0), 1..30),
    ) {
        let profile = Profile::from_yaml(PROFILE).unwrap();
        let paths: Vec<Vec<u32>> = calls
            .iter()
            .map(|(input, _, kind, _)| (0..input / 4).map(|at| kind * 100 + at).collect())
            .collect();
        let rows: Vec<(u32, u32, &[u32])> = calls
            .iter()
            .zip(&paths)
            .map(|((input, output, ..), path)| (*input, *output, path.as_slice()))
            .collect();
        let trace = trace(&rows);
        let mut sent: Vec<(f64, u32)> = calls.iter().zip(0..).map(|((.., at), r)| (*at, r)).collect();
        sent.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = live(&profile, &trace, &sent);
        prop_assert!(all.is_sorted_by(|a, b| a.0 <= b.0));
        for (at, request) in sent {
            let of: Vec<_> = all.iter().filter(|h| h.1 == request).collect();
            prop_assert_eq!(of.len(), 2);
            prop_assert!(of[0].2.is_some() && of[1].2.is_none());
            prop_assert!(of[0].0 >= at + 11.0);
        }
    }
}
