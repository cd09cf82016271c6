//! Requests that wait in the router for a busy worker: no connection, and gone with their client.

use headwater_signature::{BlockSize, Fingerprint, PrefixHash, Rung, Signature};

use crate::support::{Act, Conn, Running, Worker, request, soon, until};

const LITTLE: &str =
    "placement: {hold: {tokens: 100}}\nhealth: {interval_ms: 50}\nretry: {replay_bytes: 1000000}\n";

/// A prompt so long that no worker is presumed to be through with it during a test.
fn long_prompt(conversation: u8) -> String {
    let rung = Rung {
        blocks: 60_000,
        hash: PrefixHash::from_bytes([conversation; 8]),
    };
    let block = BlockSize::new(16).unwrap();
    let fingerprint = Fingerprint::from_bytes([9; 8]);
    Signature::new(block, 960_000, fingerprint, &[rung], None)
        .unwrap()
        .to_string()
}

async fn send(router: &Running, conversation: u8) -> Conn {
    let mut conn = Conn::to(router.address).await;
    let headers = [("prefix-signature", long_prompt(conversation))];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let body = "x".repeat(200_000);
    conn.send(&request(&headers, &body)).await.unwrap();
    conn
}

async fn until_held(router: &Running, count: f64) {
    soon("held requests", async {
        while (router.metric("headwater_held").await - count).abs() > 0.1 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_worker_cannot_take_waits_here_and_leaves_with_its_client() {
    let worker = Worker::start().await;
    worker.does(Act::Hang);
    let router = Running::start(&[&worker], LITTLE);
    let first = send(&router, 1).await;
    until("the first request", || worker.requests() == 1).await;
    let connects = router.metric("headwater_upstream_connects_total").await;
    let second = send(&router, 2).await;
    until_held(&router, 1.0).await;
    let mut third = send(&router, 3).await;
    until_held(&router, 2.0).await;

    drop(second);
    until_held(&router, 1.0).await;
    let left = "headwater_cancelled_total{stage=\"held\"}";
    assert!(router.metric(left).await > 0.5);
    let now = router.metric("headwater_upstream_connects_total").await;
    assert!((now - connects).abs() < 0.1, "waiting takes no connection");
    assert_eq!(worker.requests(), 1);

    worker.does(Act::Answer);
    drop(first);
    let answer = soon("its turn", third.response()).await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(worker.last().1.len(), 200_000);
    until_held(&router, 0.0).await;
    assert!(router.metric("headwater_held_seconds_count").await > 0.5);
}

#[tokio::test]
async fn a_client_with_a_large_body_is_missed_as_soon_as_it_leaves() {
    let worker = Worker::start().await;
    worker.does(Act::Hang);
    let router = Running::start(&[&worker], LITTLE);
    let first = send(&router, 1).await;
    until("the first request", || worker.requests() == 1).await;
    let signed = long_prompt(2);
    let mut second = Conn::to(router.address).await;
    let body = "x".repeat(20_000_000);
    let text = request(&[("prefix-signature", signed.as_str())], &body);
    soon("a large body", second.send(&text)).await.unwrap();
    until_held(&router, 1.0).await;
    drop(second);
    until_held(&router, 0.0).await;

    // What was read meanwhile is delivered like the rest.
    let mut third = Conn::to(router.address).await;
    soon("a large body", third.send(&text)).await.unwrap();
    until_held(&router, 1.0).await;
    worker.does(Act::Answer);
    drop(first);
    let answer = soon("its turn", third.response()).await.unwrap();
    assert_eq!(answer.status, 200);
    assert!(worker.last().1 == body.as_bytes());
}

#[tokio::test]
async fn who_waits_goes_to_another_worker_or_is_told_that_there_is_none() {
    let (one, two) = (Worker::start().await, Worker::start().await);
    one.does(Act::Hang);
    two.does(Act::Hang);
    let router = Running::start(&[&one, &two], LITTLE);
    let mut sent = Vec::new();
    for conversation in 0..4 {
        sent.push(send(&router, conversation).await);
    }
    until_held(&router, 2.0).await;
    // Those at the dead worker are tried elsewhere, and wait too.
    one.die().await;
    until_held(&router, 3.0).await;
    two.die().await;
    for mut conn in sent {
        let answer = soon("an answer", conn.response()).await.unwrap();
        assert!(
            answer.status == 503 || answer.status == 502,
            "{}",
            answer.status
        );
    }
    until_held(&router, 0.0).await;
}

#[tokio::test]
async fn who_waits_goes_to_the_worker_that_takes_the_place_of_all() {
    let (old, new) = (Worker::start().await, Worker::start().await);
    old.does(Act::Hang);
    let router = Running::start(&[&old], LITTLE);
    let _first = send(&router, 1).await;
    until("the first request", || old.requests() == 1).await;
    let mut second = send(&router, 2).await;
    until_held(&router, 1.0).await;
    let yaml = format!("listen: 127.0.0.1:0\nworkers: ['{}']\n{LITTLE}", new.url());
    router
        .handle
        .reload(&headwater_router::Config::parse(&yaml, "new.yaml").unwrap());
    let answer = soon("its turn", second.response()).await.unwrap();
    assert_eq!((answer.status, new.requests()), (200, 1));
}

#[tokio::test]
async fn nothing_is_held_where_engines_queue() {
    let worker = Worker::start().await;
    worker.does(Act::Hang);
    let router = Running::start(&[&worker], "placement: {hold: {order: off}}\n");
    let mut sent = Vec::new();
    for conversation in 0..5 {
        sent.push(send(&router, conversation).await);
    }
    until("all requests", || worker.requests() == 5).await;
    assert!(router.metric("headwater_held_total").await < 0.5);
}
