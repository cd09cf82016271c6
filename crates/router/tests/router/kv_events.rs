//! KV events over ZeroMQ: an engine that empties its cache, one that starts anew, and gaps.

use std::time::Duration;

use headwater_router::kv_batch::encode;
use zeromq::{PubSocket, RouterSocket, Socket, SocketRecv, SocketSend, ZmqMessage};

use crate::support::{Running, Worker, signature, soon};

fn port(endpoint: &zeromq::Endpoint) -> u16 {
    let text = endpoint.to_string();
    text.rsplit(':').next().unwrap().parse().unwrap()
}

fn message(number: u64, events: Vec<rmpv::Value>) -> ZmqMessage {
    let frames: Vec<bytes::Bytes> = vec![
        b"kv-events".to_vec().into(),
        number.to_be_bytes().to_vec().into(),
        encode(events).into(),
    ];
    ZmqMessage::try_from(frames).unwrap()
}

fn cleared() -> rmpv::Value {
    rmpv::Value::Array(vec!["AllBlocksCleared".into()])
}

async fn reason(router: &Running) -> String {
    let signed = signature(1, 2).to_string();
    let answer = router.ask(&[("prefix-signature", &signed)], "{}").await;
    answer.route().reason.to_owned()
}

async fn until_metric(router: &Running, line: &str, value: f64) {
    soon(line, async {
        while router.metric(line).await < value {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_engine_that_empties_its_cache_is_believed() {
    let worker = Worker::start().await;
    let mut engine = PubSocket::new();
    let events = engine.bind("tcp://127.0.0.1:0").await.unwrap();
    let mut replay = RouterSocket::new();
    let again = replay.bind("tcp://127.0.0.1:0").await.unwrap();
    let settings = format!(
        "kv_events: {{port: {}, replay_port: {}}}\n",
        port(&events),
        port(&again)
    );
    let router = Running::start(&[&worker], &settings);
    assert_eq!(reason(&router).await, "home");
    assert_eq!(reason(&router).await, "resident");
    // A subscriber misses what is sent before it has subscribed; so say it until it is heard.
    let heard = "headwater_kv_events_total{kind=\"unknown\"}";
    let mut number = 0;
    soon("a subscriber", async {
        while router.metric(heard).await < 1.0 {
            engine
                .send(message(number, vec![rmpv::Value::Nil]))
                .await
                .unwrap();
            number += 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(reason(&router).await, "resident");
    engine.send(message(number, vec![cleared()])).await.unwrap();
    let line = "headwater_kv_events_total{kind=\"cleared\"}";
    until_metric(&router, line, 1.0).await;
    assert_eq!(reason(&router).await, "home");
    assert_eq!(reason(&router).await, "resident");

    // Two batches are missed; asked again, the engine repeats them.
    engine.send(message(number + 3, Vec::new())).await.unwrap();
    let question = soon("a question", replay.recv()).await.unwrap();
    let frames: Vec<_> = question.iter().cloned().collect();
    let from = (number + 1).to_be_bytes().to_vec();
    assert_eq!(frames.last().unwrap(), &from);
    for (number, events) in [(number + 1, vec![cleared()]), (number + 2, Vec::new())] {
        let mut answer = message(number, events);
        answer.push_front(Vec::new().into());
        answer.push_front(frames[0].clone());
        replay.send(answer).await.unwrap();
    }
    let line = "headwater_kv_event_gaps_total{outcome=\"replayed\"}";
    until_metric(&router, line, 1.0).await;
    until_metric(&router, "headwater_kv_events_total{kind=\"cleared\"}", 2.0).await;
    assert_eq!(reason(&router).await, "home");
    assert_eq!(reason(&router).await, "resident");

    // What is no batch is counted.
    let frames: Vec<bytes::Bytes> = vec![b"kv-events".to_vec().into(), b"?".to_vec().into()];
    engine
        .send(ZmqMessage::try_from(frames).unwrap())
        .await
        .unwrap();
    let line = "headwater_kv_events_total{kind=\"unreadable\"}";
    until_metric(&router, line, 1.0).await;

    // One with a number that cannot be read is counted as well, and is no gap.
    for (at, payload) in [(number + 4, b"?".to_vec()), (number + 5, b"?".to_vec())] {
        let at = at.to_be_bytes().to_vec();
        let frames: Vec<bytes::Bytes> = vec![at.into(), payload.into()];
        engine
            .send(ZmqMessage::try_from(frames).unwrap())
            .await
            .unwrap();
    }
    until_metric(&router, line, 3.0).await;
    engine.send(message(number + 6, Vec::new())).await.unwrap();
    assert_eq!(reason(&router).await, "resident");

    // It counts anew: another process.
    engine.send(message(0, Vec::new())).await.unwrap();
    let line = "headwater_kv_event_gaps_total{outcome=\"restart\"}";
    until_metric(&router, line, 1.0).await;
    assert_eq!(reason(&router).await, "home");
}

#[test]
fn two_workers_of_one_host_have_one_publisher() {
    let check = |workers: &str, expected: Option<&str>| {
        let yaml = format!("listen: 127.0.0.1:0\nkv_events: {{port: 5557}}\n{workers}");
        let found = headwater_router::Config::parse(&yaml, "r.yaml").err();
        let found = found.map(|error| error.to_string());
        match expected {
            None => assert_eq!(found, None, "{workers}"),
            Some(place) => assert!(found.unwrap().starts_with(place), "{workers}"),
        }
    };
    check("workers: [http://a:1, http://b:1]\n", None);
    check(
        "workers: [http://a:1, http://a:2]\n",
        Some("r.yaml:3:23: workers[1]: `a` has two"),
    );
    let pool = "pools: [{name: p, match: {path: /p}, workers: [http://a:2]}]\n";
    check(
        &format!("workers: [http://a:1]\n{pool}"),
        Some("r.yaml:4:48: pools[0].workers[0]"),
    );
}
