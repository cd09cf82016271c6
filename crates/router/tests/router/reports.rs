//! What users of other routers have reported, played against this one: counters that leak, a
//! prefix of a key that is taken for the key, a busy worker that counts as dead, and the like.
//! Reports that another file plays already (breakers, cancellation, drains, echoes) are not here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::support::{Act, Conn, Running, Worker, request, signature, soon, until};

async fn workers(count: usize) -> Vec<Arc<Worker>> {
    let mut workers = Vec::new();
    for _ in 0..count {
        workers.push(Worker::start().await);
    }
    workers
}

fn all(workers: &[Arc<Worker>]) -> Vec<&Arc<Worker>> {
    workers.iter().collect()
}

async fn in_flight(router: &Running) -> u64 {
    let state = router.state().await;
    let workers = state["workers"].as_array().unwrap();
    workers
        .iter()
        .map(|w| w["in_flight"].as_u64().unwrap())
        .sum()
}

async fn until_in_flight(router: &Running, count: u64) {
    soon("requests in flight", async {
        while in_flight(router).await != count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Which worker a key's requests go to.
async fn place_of(router: &Running, key: &str) -> String {
    let answer = router.ask(&[("x-session-id", key)], "{}").await;
    assert_eq!(answer.status, 200);
    answer.text().to_owned()
}

/// Reported: `session-1` and `session-12` went to one worker, as one begins with the other.
#[tokio::test]
async fn a_key_that_begins_like_another_one_is_another_one() {
    let workers = workers(4).await;
    let router = Running::start(&all(&workers), "policy: ring\n");
    let mut places = std::collections::BTreeSet::new();
    for number in 0..40 {
        let key = format!("session-1{}", "2".repeat(number));
        places.insert(place_of(&router, &key).await);
    }
    assert!(places.len() > 2, "{places:?}");
}

/// Reported: load was counted once a stream had begun, so that a burst went to one worker.
#[tokio::test]
async fn a_burst_is_spread_before_the_first_answer() {
    let workers = workers(4).await;
    for worker in &workers {
        worker.does(Act::Hang);
    }
    let settings = "body_key: false\nplacement: {hold: {order: off}}\n";
    let router = Running::start(&all(&workers), settings);
    let mut waiting = Vec::new();
    for _ in 0..16 {
        let mut conn = Conn::to(router.address).await;
        conn.send(&request(&[], "{}")).await.unwrap();
        waiting.push(conn);
    }
    let counts = || -> Vec<usize> { workers.iter().map(|w| w.requests()).collect() };
    until("the whole burst", || counts().iter().sum::<usize>() == 16).await;
    assert_eq!(counts(), [4, 4, 4, 4]);
}

/// Reported: a stream was counted until its head had come, and a retry was counted twice.
#[tokio::test]
async fn a_request_counts_once_and_until_its_end() {
    let workers = workers(2).await;
    workers[0].does(Act::Close);
    workers[1].does(Act::Stream);
    let settings = "breaker: {failures: 1000}\nretry: {ratio: 1}\npolicy: round_robin\n";
    let router = Running::start(&all(&workers), settings);
    let mut streams = Vec::new();
    for number in 1..=6 {
        let mut conn = Conn::to(router.address).await;
        conn.send(&request(&[], "{}")).await.unwrap();
        let head = soon("a head", conn.response_head()).await.unwrap();
        assert_eq!(head.status, 200);
        assert_eq!(in_flight(&router).await, number);
        streams.push(conn);
    }
    assert!(workers[0].requests() > 0, "some were tried again");
    for left in (0..6).rev() {
        drop(streams.pop());
        until_in_flight(&router, left).await;
    }
}

/// Reported: a client that reads slowly made the router keep the whole answer in memory.
#[tokio::test]
async fn a_client_that_reads_slowly_holds_the_worker_back() {
    let worker = Worker::start().await;
    worker.does(Act::Flood);
    let router = Running::start(&[&worker], "");
    let mut conn = Conn::to(router.address).await;
    conn.send(&request(&[], "{}")).await.unwrap();
    let taken = || worker.flooded.load(SeqCst);
    until("the first bytes", || taken() > 0).await;
    // Until nothing more is taken for as long as it would take to send many megabytes.
    soon("a worker that waits", async {
        let mut before = 0;
        while taken() != before {
            before = taken();
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
    .await;
    // What the kernel's buffers hold on both sides, and a little of ours.
    assert!(taken() < 48 << 20, "{} MiB", taken() >> 20);
}

/// Reported: a probe during a long prefill went unanswered, and a working engine was taken out.
#[tokio::test]
async fn a_busy_worker_is_not_a_dead_one() {
    let worker = Worker::start().await;
    let settings = "health: {interval_ms: 20, timeout_ms: 150, failures: 1}\n";
    let router = Running::start(&[&worker], settings);
    worker.is_idle.store(false, SeqCst);
    let checks = worker.health_checks.load(SeqCst);
    while worker.health_checks.load(SeqCst) < checks + 4 {
        assert_eq!(router.ask(&[], "{}").await.status, 200);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Silent, and nothing answered meanwhile.
    router.until_state(&worker, "down").await;
    worker.is_idle.store(true, SeqCst);
    router.until_state(&worker, "ready").await;
}

/// Reported: an engine that answers nobody during a prefill of 20 s was taken for dead, and its
/// cache for lost.
#[tokio::test]
async fn a_worker_at_a_long_prompt_of_ours_is_only_left_alone() {
    let worker = Worker::start().await;
    let settings =
        "health: {interval_ms: 20, timeout_ms: 50, failures: 1}\nmetrics: {interval_ms: 20}\n";
    let router = Running::start(&[&worker], settings);
    router.until_state(&worker, "ready").await;
    let tag = router.ask(&[], "{}").await.route().worker;
    worker.does(Act::Paced(1, 600));
    worker.is_idle.store(false, SeqCst);
    worker.tells.store(false, SeqCst);
    let mut waiting = Conn::to(router.address).await;
    waiting.send(&request(&[], "{}")).await.unwrap();
    router.until_state(&worker, "starting").await;
    let answer = soon("the answer", waiting.response()).await.unwrap();
    assert_eq!((answer.status, answer.route().worker), (200, tag));
    // Nothing of ours is there now, and still nothing comes of it.
    router.until_state(&worker, "down").await;
}

#[tokio::test]
async fn who_waits_at_a_worker_that_is_lost_is_answered_by_another() {
    let (hung, good) = (Worker::start().await, Worker::start().await);
    let settings = "health: {interval_ms: 20, timeout_ms: 50, failures: 1, busy_seconds: 1}\nmetrics: {interval_ms: 20}\n";
    let router = Running::start(&[&hung, &good], settings);
    hung.does(Act::Hang);
    let mut waiting = Vec::new();
    while hung.requests() < 2 {
        let mut conn = Conn::to(router.address).await;
        let key = waiting.len().to_string();
        let headers = [("x-session-id", key.as_str())];
        let before = hung.requests() + good.requests();
        conn.send(&request(&headers, "{}")).await.unwrap();
        until("the request", || hung.requests() + good.requests() > before).await;
        waiting.push(conn);
    }
    hung.is_idle.store(false, SeqCst);
    hung.tells.store(false, SeqCst);
    for conn in &mut waiting {
        let answer = soon("an answer", conn.response()).await.unwrap();
        assert_eq!(
            (answer.status, answer.text()),
            (200, good.address.to_string().as_str())
        );
    }
    let lost = "headwater_retries_total{cause=\"worker_lost\"}";
    assert!(router.metric(lost).await > 1.5);
}

/// Reported: where every worker was away for a moment, who waited at the one that stayed away was
/// forgotten there.
#[tokio::test]
async fn who_waits_at_a_worker_that_is_lost_gets_the_next_one_that_is_there() {
    let (hung, back) = (Worker::start().await, Worker::start().await);
    back.health.store(503, SeqCst);
    let settings = "health: {interval_ms: 20, timeout_ms: 50, failures: 1, busy_seconds: 1}\n";
    let router = Running::start(&[&hung, &back], settings);
    router.until_state(&back, "down").await;
    hung.does(Act::Hang);
    let mut waiting = Conn::to(router.address).await;
    waiting.send(&request(&[], "{}")).await.unwrap();
    until("the request", || hung.requests() == 1).await;
    hung.is_idle.store(false, SeqCst);
    router.until_state(&hung, "down").await;
    // Longer than it takes to tell those who wait there.
    tokio::time::sleep(Duration::from_secs(1)).await;
    back.health.store(200, SeqCst);
    let answer = soon("an answer", waiting.response()).await.unwrap();
    let from = back.address.to_string();
    assert_eq!((answer.status, answer.text()), (200, from.as_str()));
}

/// Reported: after a reload the old list was checked, or nothing at all.
#[tokio::test]
async fn health_checks_follow_a_reload() {
    let workers = workers(3).await;
    let settings = "health: {interval_ms: 20}\n";
    let router = Running::start(&[&workers[0], &workers[1]], settings);
    let urls = [workers[1].url(), workers[2].url()].join(", ");
    let yaml = format!("{{listen: 127.0.0.1:0, workers: [{urls}]}}");
    let config = headwater_router::Config::parse(&yaml, "test.yaml").unwrap();
    router.handle.reload(&config);
    router.until_state(&workers[2], "ready").await;
    let checks = workers[0].health_checks.load(SeqCst);
    for worker in &workers[1..] {
        worker.health.store(503, SeqCst);
        router.until_state(worker, "down").await;
        worker.health.store(200, SeqCst);
        router.until_state(worker, "ready").await;
    }
    // One may have been on its way.
    assert!(workers[0].health_checks.load(SeqCst) <= checks + 1);
}

/// Reported: `GET /v1/models` failed while any one worker was down.
#[tokio::test]
async fn what_any_worker_can_answer_is_answered_with_one_down() {
    let workers = workers(3).await;
    let router = Running::start(&all(&workers), "");
    workers[0].die().await;
    for _ in 0..9 {
        let mut conn = Conn::to(router.address).await;
        conn.send("GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n")
            .await
            .unwrap();
        let answer = soon("an answer", conn.response()).await.unwrap();
        assert_eq!(answer.status, 200);
    }
}

/// Reported: a metrics page that takes long made an engine unusable.
#[tokio::test]
async fn a_worker_that_tells_no_metrics_is_used_and_its_signals_are_missing() {
    let (silent, renamed) = (Worker::start().await, Worker::start().await);
    silent.tells.store(false, SeqCst);
    *renamed.metrics.lock().unwrap() = "vllm:num_requests_running 3\n".to_owned();
    let settings = "policy: round_robin\nmetrics: {interval_ms: 20}\nhealth: {interval_ms: 20}\n";
    let router = Running::start(&[&silent, &renamed], settings);
    let mut seen = BTreeMap::new();
    for key in 0..20 {
        *seen
            .entry(place_of(&router, &key.to_string()).await)
            .or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
    router.until_state(&silent, "ready").await;
    // Reported: a name that is gone was read as 0, so that the worker looked idle.
    let running = format!("headwater_worker_running{{worker=\"{}\"}}", renamed.address);
    let missing = format!(
        "headwater_worker_signal_missing{{worker=\"{}\",signal=\"running\"}}",
        renamed.address
    );
    soon("the first name", async {
        while router.metric(&running).await < 2.5 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    *renamed.metrics.lock().unwrap() = "vllm:requests_running_now 3\n".to_owned();
    soon("a missing signal", async {
        while router.metric(&missing).await < 0.5 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let page = router.admin("GET", "/metrics").await;
    assert!(!page.text().contains(&running), "absent, not 0");
}

/// Reported: an engine closes idle connections after some seconds, and the next request that the
/// router sends over one fails.
#[tokio::test]
async fn a_kept_connection_that_the_worker_closed_costs_nobody_anything() {
    let worker = Worker::start().await;
    let router = Running::start(
        &[&worker],
        "retry: {max: 0}\nhealth: {interval_ms: 60000}\n",
    );
    let mut conn = Conn::to(router.address).await;
    for _ in 0..5 {
        assert_eq!(conn.ask(&[], "a body").await.status, 200);
        worker.die().await;
        worker.rise().await;
    }
    assert_eq!(worker.last().1, b"a body");
}

/// Reported: ids that differ on every request were taken for the key of a conversation.
#[tokio::test]
async fn ids_of_requests_are_no_keys() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "");
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let headers = [
        ("x-request-id", "a"),
        ("traceparent", trace),
        ("authorization", "Bearer k"),
        ("x-forwarded-for", "10.0.0.1"),
        ("cookie", "id=1"),
    ];
    router.ask(&headers, "{}").await;
    let body = "headwater_keys_total{source=\"body\"}";
    assert!((router.metric(body).await - 1.0).abs() < 0.1);
}

/// Reported: the keys of a lost worker all went to the same other one, and breakers were not
/// asked.
#[tokio::test]
async fn keys_of_a_lost_worker_are_spread_over_the_others() {
    let workers = workers(4).await;
    let settings = "policy: ring\nbreaker: {failures: 1, open_ms: 60000}\n";
    let router = Running::start(&all(&workers), settings);
    let mut homes = BTreeMap::new();
    for key in 0..60 {
        let key = key.to_string();
        let home = place_of(&router, &key).await;
        homes.insert(key, home);
    }
    let lost = workers[0].address.to_string();
    workers[0].does(Act::Close);
    let mut moved = BTreeMap::new();
    for (key, home) in &homes {
        let place = place_of(&router, key).await;
        if *home == lost {
            *moved.entry(place).or_insert(0) += 1;
        } else {
            assert_eq!(place, *home, "nobody else moves");
        }
    }
    assert!(moved.len() > 1 && !moved.contains_key(&lost), "{moved:?}");
    let tried = workers[0].requests();
    for key in homes.keys() {
        place_of(&router, key).await;
    }
    assert_eq!(workers[0].requests(), tried, "its breaker is open");
}

/// Reported: a client's fault closed a breaker that had half opened.
#[tokio::test]
async fn a_clients_fault_says_nothing_of_a_worker_that_is_tried() {
    let (bad, good) = (Worker::start().await, Worker::start().await);
    let settings = "policy: round_robin\nbreaker: {failures: 2, open_ms: 50, most_open_ms: 50}\n";
    let router = Running::start(&[&bad, &good], settings);
    let opened = "headwater_breaker_total{cause=\"opened\"}";
    let closed = "headwater_breaker_total{cause=\"closed\"}";
    bad.does(Act::Status(500));
    soon("an open breaker", async {
        while router.metric(opened).await < 0.5 {
            router.ask(&[], "{}").await;
        }
    })
    .await;
    bad.does(Act::Status(400));
    let tried = bad.requests();
    soon("some tries", async {
        while bad.requests() < tried + 3 {
            router.ask(&[], "{}").await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert!(router.metric(closed).await < 0.5);
    bad.does(Act::Answer);
    soon("a closed breaker", async {
        while router.metric(closed).await < 0.5 {
            router.ask(&[], "{}").await;
        }
    })
    .await;
}

/// Reported: workers that were taken off the list lost the streams that they were serving.
#[tokio::test]
async fn a_worker_that_is_taken_off_the_list_finishes_its_streams() {
    let (one, two) = (Worker::start().await, Worker::start().await);
    let router = Running::start(&[&one], "health: {interval_ms: 20}\n");
    one.does(Act::Stream);
    let mut stream = Conn::to(router.address).await;
    let signed = signature(1, 1).to_string();
    let asked = request(&[("prefix-signature", &signed)], "{}");
    stream.send(&asked).await.unwrap();
    soon("a head", stream.response_head()).await.unwrap();
    let url = two.url();
    let added = router.admin_with("POST", "/workers", &[], &url);
    assert_eq!(added.await.status, 201);
    router.until_state(&two, "ready").await;
    let remove = format!("/workers?worker={}", one.address);
    assert_eq!(router.admin("DELETE", &remove).await.status, 200);
    for number in 0..3 {
        one.events.add_permits(1);
        let event = soon("an event", stream.chunk()).await.unwrap();
        assert_eq!(event, format!("data: {number}\n\n").as_bytes());
        // The prefix is known to have been where nobody goes any more.
        let answer = router.ask(&[("prefix-signature", &signed)], "{}").await;
        assert_eq!(answer.text(), two.address.to_string());
    }
    one.finish.notify_one();
    assert_eq!(soon("the end", stream.chunk()).await, Some(Vec::new()));
}
