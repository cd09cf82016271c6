//! Who gets a request: signatures, sessions, spills, echoes, and what the answer says of it.

use std::collections::BTreeSet;

use crate::support::{Act, Conn, Running, Worker, signature, soon, until, with_echo};

#[tokio::test]
async fn a_signed_conversation_stays_with_its_worker() {
    let workers = [
        Worker::start().await,
        Worker::start().await,
        Worker::start().await,
    ];
    let router = Running::start(&[&workers[0], &workers[1], &workers[2]], "");
    let mut used = BTreeSet::new();
    for conversation in 0..12 {
        let mut first = None;
        for turn in 1..=3 {
            let signed = signature(conversation, turn).to_string();
            let body = format!("other words {conversation} {turn}");
            let answer = router
                .ask(
                    &[
                        ("prefix-signature", &signed),
                        ("prefix-affinity", &format!("c{conversation}")),
                    ],
                    &body,
                )
                .await;
            assert_eq!(answer.status, 200);
            let worker = answer.text().to_owned();
            if turn > 1 {
                assert_eq!(answer.route().reason, "resident");
                assert_eq!(answer.route().matched_tokens, 64 * 16 * u32::from(turn - 1));
            }
            assert_eq!(
                *first.get_or_insert(worker.clone()),
                worker,
                "conversation {conversation}"
            );
            used.insert(worker);
        }
    }
    assert!(used.len() > 1, "conversations are spread");
    assert!(
        router
            .metric("headwater_decisions_total{reason=\"resident\"}")
            .await
            >= 24.0
    );
    assert!((router.metric("headwater_signatures_total").await - 36.0).abs() < 0.1);
}

#[tokio::test]
async fn a_malformed_signature_is_counted_and_the_request_served() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let good = signature(1, 1).to_string();
    let bad: [(&[(&str, &str)], &str); 3] = [
        (&[("prefix-signature", "v=1, b=16, n=")], "syntax"),
        (
            &[("prefix-signature", &good), ("prefix-signature", &good)],
            "duplicate_header",
        ),
        (&[("prefix-signature", "v=2, x=1")], "unknown_version"),
    ];
    for (headers, kind) in bad {
        assert_eq!(router.ask(headers, "{}").await.status, 200);
        let line = format!("headwater_signature_errors_total{{kind=\"{kind}\"}}");
        assert!((router.metric(&line).await - 1.0).abs() < 0.1, "{kind}");
    }
}

#[tokio::test]
async fn requests_without_a_signature_follow_their_session_affinity_or_body() {
    let workers = [
        Worker::start().await,
        Worker::start().await,
        Worker::start().await,
    ];
    let router = Running::start(&[&workers[0], &workers[1], &workers[2]], "");
    let long = "x".repeat(4_000);
    for (name, source) in [
        ("x-session-id", "session"),
        ("prefix-affinity", "affinity"),
        ("accept", "body"),
    ] {
        let mut used = BTreeSet::new();
        for key in 0..12 {
            let key = format!("{name}-{key}");
            let mut homes = BTreeSet::new();
            for turn in 0..3 {
                // Beyond 2 KiB the body may differ and the key stays.
                let body = format!("{key}{long}{turn}");
                let answer = router.ask(&[(name, &key)], &body).await;
                homes.insert(answer.text().to_owned());
            }
            assert_eq!(homes.len(), 1, "{key}");
            used.extend(homes);
        }
        assert!(used.len() > 1, "{name}: keys are spread");
        let line = format!("headwater_keys_total{{source=\"{source}\"}}");
        assert!((router.metric(&line).await - 36.0).abs() < 0.1, "{source}");
    }
}

#[tokio::test]
async fn a_worker_over_its_limit_spills_and_the_answer_says_so() {
    let workers = [Worker::start().await, Worker::start().await];
    let router = Running::start(&[&workers[0], &workers[1]], "placement: {max_ongoing: 2}\n");
    let signed = signature(1, 2).to_string();
    let first = router.ask(&[("prefix-signature", &signed)], "").await;
    let home = workers
        .iter()
        .find(|w| w.address.to_string() == first.text())
        .unwrap();
    home.does(Act::Hang);
    let mut waiting = Vec::new();
    let mut spilled = None;
    for _ in 0..12 {
        let mut conn = Conn::to(router.address).await;
        conn.send(&crate::support::request(
            &[("prefix-signature", &signed)],
            "",
        ))
        .await
        .unwrap();
        let before = home.requests();
        let answered = soon("a spill or one more in flight", async {
            tokio::select! {
                answer = conn.response() => answer,
                () = until("one more", || home.requests() > before) => None,
            }
        })
        .await;
        match answered {
            Some(answer) => {
                spilled = Some(answer);
                break;
            }
            None => waiting.push(conn),
        }
    }
    let spilled = spilled.expect("one request spills");
    assert_eq!(spilled.route().reason, "spill_queue");
    assert_ne!(spilled.text(), first.text());
    assert!(!waiting.is_empty());
}

#[tokio::test]
async fn a_second_router_follows_the_echo() {
    let workers = [
        Worker::start().await,
        Worker::start().await,
        Worker::start().await,
    ];
    for worker in &workers {
        *worker.metrics.lock().unwrap() = "process_start_time_seconds 1764468000.4\n".to_owned();
    }
    let all = [&workers[0], &workers[1], &workers[2]];
    let (one, two) = (Running::start(&all, ""), Running::start(&all, ""));
    for router in [&one, &two] {
        soon("the workers' generations", async {
            loop {
                let state = router.state().await;
                let told = |w: &serde_json::Value| w["started"] == 1_764_468_000;
                if state["workers"].as_array().unwrap().iter().all(told) {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        })
        .await;
    }
    for conversation in 0..8 {
        let signed = signature(conversation, 1).to_string();
        let answer = one.ask(&[("prefix-signature", &signed)], "").await;
        let echoed = with_echo(signature(conversation, 2), &answer, 64 * 16 + 5);
        let next = two.ask(&[("prefix-signature", &echoed)], "").await;
        assert_eq!(next.text(), answer.text());
        assert_eq!(next.route().reason, "echo");
        assert_eq!(next.route().worker, answer.route().worker);
    }
}

#[tokio::test]
async fn a_drained_worker_gets_nothing_new_until_it_is_put_back() {
    let workers = [Worker::start().await, Worker::start().await];
    let router = Running::start(&[&workers[0], &workers[1]], "");
    let name = workers[0].address;
    assert_eq!(
        router
            .admin("GET", &format!("/drain?worker={name}"))
            .await
            .status,
        405
    );
    assert_eq!(
        router.admin("POST", "/drain?worker=nobody").await.status,
        404
    );
    assert_eq!(router.admin("POST", "/drain").await.status, 400);
    assert_eq!(
        router
            .admin("POST", &format!("/drain?worker={name}"))
            .await
            .status,
        200
    );
    router.until_state(&workers[0], "draining").await;
    for key in 0..20 {
        router.ask(&[("x-session-id", &key.to_string())], "").await;
    }
    assert_eq!((workers[0].requests(), workers[1].requests()), (0, 20));
    assert_eq!(
        router
            .admin("POST", &format!("/undrain?worker={name}"))
            .await
            .status,
        200
    );
    for key in 20..60 {
        router.ask(&[("x-session-id", &key.to_string())], "").await;
    }
    assert!(workers[0].requests() > 0);
}

#[tokio::test]
async fn load_is_read_from_the_workers_metrics() {
    let worker = Worker::start().await;
    *worker.metrics.lock().unwrap() = "vllm:num_requests_running{engine=\"0\"} 3.0\nvllm:num_requests_waiting{engine=\"0\"} 1.0\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.93\n".to_owned();
    let router = Running::start(&[&worker], "metrics: {interval_ms: 20}\n");
    soon("a hot worker", async {
        loop {
            let state = router.state().await;
            let of = &state["workers"][0];
            if of["hot"] == true {
                assert_eq!(of["reported"]["running"], 3.0);
                assert_eq!(of["reported"]["waiting"], 1.0);
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    })
    .await;
    let line = format!("headwater_worker_hot{{worker=\"{}\"}}", worker.address);
    assert!((router.metric(&line).await - 1.0).abs() < 0.1);
    let missing = format!(
        "headwater_worker_signal_missing{{worker=\"{}\",signal=\"kv_use\"}}",
        worker.address
    );
    assert!(router.metric(&missing).await.abs() < 0.1);
}
