//! Whole runs: every request ends once, the same arguments give the same outcome.

use super::*;
use crate::outcome::recovery;
use crate::report;
use crate::scale::{Load, scale};
use crate::setup;
use crate::sweep::Sweep;

fn busy(requests: usize) -> Trace {
    let large = Profile::built_in("large").unwrap();
    let load = Load {
        workers: 4,
        share: 0.8,
        most_requests: requests,
        seed: 1,
    };
    scale(&setup::rag_like(requests, 5), &large, load)
}

fn run(trace: &Trace, policy: PolicyName, conditions: &Conditions) -> Outcome {
    let mut large = Profile::built_in("large").unwrap();
    large.cache_tokens = 100_000;
    simulate(trace, &large, policy, conditions, &|_| ()).unwrap()
}

#[test]
fn under_every_policy_every_request_ends_once() {
    let trace = busy(400);
    for policy in PolicyName::ALL {
        let outcome = run(&trace, policy, &Conditions::of(4));
        assert_eq!((outcome.finished, outcome.failed), (400, 0), "{policy}");
        assert!(outcome.hit_tokens <= outcome.ideal_tokens, "{policy}");
        assert_eq!(outcome.prompt_tokens, trace.input_tokens(), "{policy}");
        let reasons: u64 = outcome.reasons.iter().map(|(_, count)| count).sum();
        assert_eq!(reasons, 400, "{policy}");
    }
    let oracle = run(&trace, PolicyName::Oracle, &Conditions::of(4));
    assert_eq!(oracle.hit_tokens, oracle.ideal_tokens);
}

const TROUBLE: &str = "
incidents:
- { at_s: 20, do: worker_lost, number: 1 }
- { at_s: 30, do: worker_draining, number: 2 }
- { at_s: 40, do: worker_back, number: 1 }
- { at_s: 45, do: worker_restarted, number: 0 }
- { at_s: 50, do: worker_added }
- { at_s: 55, do: worker_back, number: 2 }
- { at_s: 60, do: pressure, number: 3, share: 0.9 }
- { at_s: 65, do: reports_stop }
- { at_s: 70, do: reports_resume }
- { at_s: 25, do: router_lost, number: 0 }
- { at_s: 75, do: router_back, number: 0 }
- { at_s: 80, do: worker_lost, number: 900 }
";

#[test]
fn under_all_troubles_every_request_ends_once() {
    let trace = busy(600);
    let mut seen_retries = 0;
    for policy in PolicyName::ALL {
        let conditions = Conditions {
            routers: 3,
            split: Split::Affinity,
            echoes: Echoes::Returned,
            reports: Reports::LoadWithAnswers,
            scenario: Scenario::from_yaml(TROUBLE).unwrap(),
            ..Conditions::of(4)
        };
        let outcome = run(&trace, policy, &conditions);
        assert_eq!(outcome.finished + outcome.failed, 600, "{policy}");
        assert!(outcome.failed < 200, "{policy}: {}", outcome.failed);
        seen_retries += outcome.retried;
    }
    assert!(seen_retries > 0);
}

#[test]
fn what_answers_tell_is_heard() {
    let trace = busy(600);
    let with = |reports| {
        let conditions = Conditions {
            routers: 8,
            reports,
            report_every_ms: 60_000.0,
            ..Conditions::of(4)
        };
        let outcome = run(&trace, PolicyName::Headwater, &conditions);
        assert_eq!(outcome.finished, 600);
        outcome.ttft_ms.mean
    };
    // Whether it gains anything is luck: 24 draws are alike to a thousandth.
    let (seldom, with_answers) = (with(Reports::Load), with(Reports::LoadWithAnswers));
    assert!((with_answers - seldom).abs() > 1e-6, "{seldom}");
}

#[test]
fn without_any_worker_requests_wait_for_one() {
    let text = "incidents:\n- { at_s: 0, do: worker_lost }\n- { at_s: 30, do: worker_back }\n";
    let conditions = Conditions {
        scenario: Scenario::from_yaml(text).unwrap(),
        ..Conditions::of(1)
    };
    let outcome = run(&busy(20), PolicyName::Headwater, &conditions);
    assert_eq!((outcome.finished, outcome.failed), (20, 0));
}

#[test]
fn the_same_arguments_give_the_same_bytes_on_any_number_of_threads() {
    let traces = [("t".to_owned(), setup::rag_like(150, 2))];
    let large = Profile::built_in("large").unwrap();
    let conditions = Conditions::of(1);
    let sweep = |threads| Sweep {
        traces: &traces,
        profile: &large,
        workers: &[2, 3],
        caches: &[50_000, 500_000],
        loads: &[0.5],
        policies: &PolicyName::ALL,
        most_requests: Some(150),
        threads,
        conditions: &conditions,
    };
    let (one, four) = (
        sweep(1).run(&|_| ()).unwrap(),
        sweep(4).run(&|_| ()).unwrap(),
    );
    assert_eq!(one.len(), sweep(1).runs());
    for write in [report::table, report::json, report::csv, report::html] {
        assert_eq!(write(&one), write(&four));
    }
}

#[test]
fn the_json_has_what_it_promises() {
    let traces = [("a \"name\"".to_owned(), setup::rag_like(100, 2))];
    let large = Profile::built_in("large").unwrap();
    let conditions = Conditions::of(1);
    let sweep = Sweep {
        traces: &traces,
        profile: &large,
        workers: &[2, 4],
        caches: &[],
        loads: &[],
        policies: &[
            PolicyName::Headwater,
            PolicyName::LlmD,
            PolicyName::FullKnowledge,
        ],
        most_requests: Some(100),
        threads: 1,
        conditions: &conditions,
    };
    let cells = sweep.run(&|_| ()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&report::json(&cells)).unwrap();
    let results = value["results"].as_array().unwrap();
    assert_eq!((value["version"].as_u64(), results.len()), (Some(1), 6));
    for key in [
        "workers",
        "hit_rate",
        "ttft_mean_ms",
        "ttft_p50_ms",
        "ttft_p99_ms",
        "imbalance",
        "hit_tokens",
    ] {
        assert!(
            results.iter().all(|result| result[key].is_number()),
            "{key}"
        );
    }
    assert_eq!(results[0]["policy"], "headwater");
    assert_eq!(value["summary"]["best_peer"], "llm-d");
    assert_eq!(value["summary"]["configurations"], 2);
    let csv = report::csv(&cells);
    assert!(
        csv.lines()
            .nth(1)
            .unwrap()
            .starts_with("headwater,\"a \"\"name\"\"\",2,1,1000000,,100,100,0,0,")
    );
}

#[test]
fn a_user_waits_for_the_answer() {
    let setup = setup::Users1000 {
        users: 20,
        conversations: 1,
        ..setup::Users1000::default()
    }
    .setup();
    let conditions = Conditions::of(2);
    let run =
        |policy| simulate(&setup.trace, &setup.profile, policy, &conditions, &|_| ()).unwrap();
    let ours = run(PolicyName::Headwater);
    assert_eq!((ours.finished, ours.turns.len()), (100, 5));
    assert_eq!(ours.turns[0].hit_tokens, 0);
    assert!(ours.turns[4].hit_tokens > ours.turns[4].prompt_tokens / 2);
}

#[test]
fn what_follows_an_incident_is_measured() {
    let text = "incidents:\n- { at_s: 100, do: worker_lost, number: 0 }\n- { at_s: 130, do: worker_back, number: 0 }\n";
    let conditions = Conditions {
        scenario: Scenario::from_yaml(text).unwrap(),
        ..Conditions::of(4)
    };
    let outcome = run(
        &setup::shared_prefix_groups(4_000, 1),
        PolicyName::Headwater,
        &conditions,
    );
    let after = recovery(&outcome, 100.0);
    assert!(
        after.hit_rate_before > 0.9 && after.hit_rate_worst < after.hit_rate_before,
        "{after:?}"
    );
    assert!(
        after.seconds_to_95.is_some_and(|seconds| seconds < 60.0),
        "{after:?}"
    );
}
