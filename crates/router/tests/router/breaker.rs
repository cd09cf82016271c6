//! Workers that fail requests though their health page is fine: kept out, tried, taken back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::support::{Act, Conn, Running, Worker, request, soon};

/// In turns: `cost` keeps new keys away from a worker that it has learned to be slow, as a failing one may
/// be, and then its breaker has nothing to count.
const QUICK: &str =
    "policy: round_robin\nbreaker: {failures: 3, open_ms: 100}\nretry: {first_byte_ms: 200}\n";

/// New each time: a conversation stays where it has gone meanwhile.
fn fresh_key() -> String {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    ASKED.fetch_add(1, SeqCst).to_string()
}

/// Asks with many keys; gives how often each status came.
async fn ask(router: &Running, count: usize) -> std::collections::BTreeMap<u16, usize> {
    let mut statuses = std::collections::BTreeMap::new();
    for _ in 0..count {
        let key = fresh_key();
        let answer = router.ask(&[("x-session-id", &key)], "{}").await;
        *statuses.entry(answer.status).or_default() += 1;
    }
    statuses
}

async fn breaker_of(router: &Running, worker: &Worker) -> String {
    let state = router.state().await;
    let name = worker.address.to_string();
    let workers = state["workers"].as_array().unwrap();
    let of = workers.iter().find(|w| w["name"] == name.as_str()).unwrap();
    of["breaker"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_worker_that_fails_is_kept_out_and_taken_back_when_it_is_well() {
    for act in [
        Act::Status(500),
        Act::Garbage,
        Act::Close,
        Act::Hang,
        Act::Cut,
    ] {
        let (bad, good) = (Worker::start().await, Worker::start().await);
        let router = Running::start(&[&bad, &good], QUICK);
        bad.does(act);
        soon("an open breaker", async {
            while breaker_of(&router, &bad).await == "closed" {
                for _ in 0..8 {
                    let mut conn = Conn::to(router.address).await;
                    let key = fresh_key();
                    conn.send(&request(&[("x-session-id", &key)], "{}")).await;
                    conn.response().await;
                }
            }
        })
        .await;
        assert!(
            router
                .metric("headwater_breaker_total{cause=\"opened\"}")
                .await
                > 0.5
        );
        assert_eq!(breaker_of(&router, &good).await, "closed");
        bad.does(Act::Answer);
        soon("a closed breaker", async {
            while breaker_of(&router, &bad).await != "closed" {
                ask(&router, 8).await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn back_pressure_and_the_clients_faults_open_no_breaker() {
    for status in [429, 503, 400, 404, 401, 501] {
        let (busy, other) = (Worker::start().await, Worker::start().await);
        let router = Running::start(&[&busy, &other], QUICK);
        busy.does(Act::Status(status));
        ask(&router, 30).await;
        assert!(busy.requests() > 0, "{status}");
        assert_eq!(breaker_of(&router, &busy).await, "closed", "{status}");
    }
}

#[tokio::test]
async fn when_most_workers_fail_half_of_them_stay_in() {
    let mut workers: Vec<Arc<Worker>> = Vec::new();
    for _ in 0..4 {
        let worker = Worker::start().await;
        worker.does(Act::Status(500));
        workers.push(worker);
    }
    let all: Vec<&Arc<Worker>> = workers.iter().collect();
    let router = Running::start(&all, "breaker: {failures: 2, open_ms: 60000}\n");
    let statuses = ask(&router, 60).await;
    assert_eq!(statuses.into_keys().collect::<Vec<_>>(), [500], "never 503");
    let mut open = 0;
    for worker in &workers {
        open += usize::from(breaker_of(&router, worker).await != "closed");
    }
    assert_eq!(open, 2);
    assert!(
        router
            .metric("headwater_breaker_total{cause=\"kept_by_floor\"}")
            .await
            > 0.5
    );
}

#[tokio::test]
async fn an_answer_that_does_not_begin_in_time_is_had_elsewhere() {
    let (slow, good) = (Worker::start().await, Worker::start().await);
    slow.does(Act::Hang);
    let router = Running::start(&[&slow, &good], "retry: {first_byte_ms: 100}\n");
    let statuses = ask(&router, 12).await;
    assert_eq!(statuses.into_keys().collect::<Vec<_>>(), [200]);
    assert!(slow.requests() > 0);

    good.does(Act::Hang);
    let answer = router.ask(&[("x-session-id", "1")], "{}").await;
    assert_eq!(answer.status, 504);
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(json["error"]["code"], "worker_late");
}

#[tokio::test]
async fn a_client_that_sends_slowly_makes_no_worker_late() {
    let worker = Worker::start().await;
    let router = Running::start(&[&worker], "retry: {first_byte_ms: 50}\n");
    let mut client = Conn::to(router.address).await;
    let text = request(&[("x-session-id", "1")], &"x".repeat(100));
    let (first, rest) = text.split_at(text.len() - 10);
    client.send(first).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    client.send(rest).await.unwrap();
    let answer = soon("an answer", client.response()).await.unwrap();
    assert_eq!(answer.status, 200);
    let late = "headwater_upstream_errors_total{kind=\"worker_late\"}";
    assert!(router.metric(late).await < 0.5);
}

#[tokio::test]
async fn a_worker_that_has_enough_is_left_alone_for_a_while_and_used_if_all_have() {
    let (busy, free) = (Worker::start().await, Worker::start().await);
    let router = Running::start(&[&busy, &free], "policy: round_robin\n");
    busy.does(Act::Status(503));
    let statuses = ask(&router, 40).await;
    assert_eq!(statuses.into_keys().collect::<Vec<_>>(), [200]);
    assert!((1..=2).contains(&busy.requests()), "{}", busy.requests());
    free.does(Act::Status(503));
    busy.does(Act::Answer);
    let statuses = ask(&router, 5).await;
    assert_eq!(statuses.into_keys().collect::<Vec<_>>(), [200]);
}
