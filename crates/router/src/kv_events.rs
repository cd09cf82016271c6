//! Follows the KV events of a worker's engines: what they say of an emptied cache is believed at
//! once, and what was missed is asked for again.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use headwater_placement::Event;
use headwater_signature::RouteTag;
use tokio::time::{Instant, sleep, timeout};
use zeromq::{DealerSocket, Socket, SocketRecv, SocketSend, SubSocket, ZmqMessage};

use crate::endpoint::Endpoint;
use crate::kv_batch::{Batch, KvEvent};
use crate::shared::Shared;

/// How long an engine may take to say hello, or to repeat something.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two attempts to reach an engine.
const PAUSE: Duration = Duration::from_secs(2);

/// After such a silence the connection is made anew: the other side may have gone without a word.
const SILENCE: Duration = Duration::from_secs(60);

/// How often a silent connection is looked after.
const LOOK: Duration = Duration::from_secs(2);

/// More missed batches than this are not asked for: forgetting is cheaper.
const MOST_REPEATED: u64 = 1_000;

/// Follows one rank of a worker for as long as the worker is known.
pub(crate) async fn follow(shared: Arc<Shared>, endpoint: Arc<Endpoint>, rank: u16) {
    let mut follower = Follower {
        shared,
        endpoint,
        rank,
        next: None,
        life: None,
        is_deaf: false,
    };
    loop {
        if let Err(error) = follower.subscribe().await {
            let worker = &follower.endpoint.name;
            match std::mem::replace(&mut follower.is_deaf, true) {
                false => tracing::warn!(worker, %error, "no KV events; is `kv_events.port` right?"),
                true => tracing::debug!(worker, %error, "no KV events"),
            }
        }
        sleep(PAUSE).await;
    }
}

struct Follower {
    shared: Arc<Shared>,
    endpoint: Arc<Endpoint>,
    rank: u16,
    /// The number of the next batch, once one has come.
    next: Option<u64>,
    /// The worker's process at the latest batch, as far as its metrics and health told of it.
    life: Option<RouteTag>,
    /// Whether it was said that nothing can be heard.
    is_deaf: bool,
}

/// What a batch's number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Next,
    /// Batches from this number on were missed.
    Gap(u64),
    /// The engine counts anew: it is another process, with an empty cache.
    Restart,
    /// It was here before.
    Again,
}

impl Step {
    fn of(expected: Option<u64>, number: u64) -> Self {
        match expected {
            None => Self::Next,
            Some(expected) if number == expected => Self::Next,
            Some(expected) if number > expected => Self::Gap(expected),
            Some(expected) if number.checked_add(1) == Some(expected) => Self::Again,
            Some(_) => Self::Restart,
        }
    }
}

impl Follower {
    async fn subscribe(&mut self) -> io::Result<()> {
        let Some(config) = &self.shared.config.kv_events else {
            return Ok(());
        };
        let address = self.address(config.port.get());
        let mut socket = SubSocket::new();
        let connected = timeout(PATIENCE, socket.connect(&address)).await?;
        connected.map_err(io::Error::other)?;
        socket.subscribe("").await.map_err(io::Error::other)?;
        self.is_deaf = false;
        let (life, mut heard) = (self.process(), Instant::now());
        loop {
            let Ok(message) = timeout(LOOK, socket.recv()).await else {
                // The socket connects again by itself, but up to half a minute late.
                let is_stale = self.process() != life || heard.elapsed() >= SILENCE;
                if is_stale {
                    return Ok(());
                }
                continue;
            };
            heard = Instant::now();
            let message = message.map_err(io::Error::other)?;
            // A new form of theirs is said aloud, or the cache would go unheard of in silence.
            match numbered(&message) {
                Some((number, batch)) => {
                    if batch.is_none() {
                        self.shared.counters.kv_events.add("unreadable");
                    }
                    self.learn(number, &batch.unwrap_or_default()).await;
                }
                None => self.shared.counters.kv_events.add("unreadable"),
            }
        }
    }

    /// Which process the worker is, as its metrics and its health have told.
    fn process(&self) -> Option<RouteTag> {
        self.shared
            .roster(self.endpoint.pool)
            .process(&self.endpoint)
    }

    fn address(&self, port: u16) -> String {
        let host = self.endpoint.url.host();
        let port = port.saturating_add(self.rank);
        if host.contains(':') {
            format!("tcp://[{host}]:{port}")
        } else {
            format!("tcp://{host}:{port}")
        }
    }

    async fn learn(&mut self, number: u64, batch: &Batch) {
        match Step::of(self.next, number) {
            Step::Next => {}
            Step::Again => return,
            // What it had before is forgotten already if its metrics told of the restart first.
            Step::Restart if self.process() != self.life => {
                self.shared.counters.kv_event_gaps.add("restart");
            }
            Step::Restart => self.forget("restart"),
            Step::Gap(from) => match self.repeat(from, number).await {
                Ok(batches) => {
                    self.shared.counters.kv_event_gaps.add("replayed");
                    batches.iter().for_each(|batch| self.apply(batch));
                }
                Err(_) => self.forget("forgotten"),
            },
        }
        self.next = number.checked_add(1);
        self.life = self.process();
        self.apply(batch);
    }

    fn apply(&self, batch: &Batch) {
        for event in &batch.events {
            self.shared.counters.kv_events.add(event.as_str());
            if *event == KvEvent::Cleared {
                self.clear();
            }
        }
    }

    /// What is in the cache is not known any more.
    fn forget(&self, why: &'static str) {
        self.shared.counters.kv_event_gaps.add(why);
        self.clear();
    }

    fn clear(&self) {
        let worker = self.endpoint.id;
        let cleared = Event::Cleared { worker };
        self.shared.observe(self.endpoint.pool, &cleared);
    }

    /// Asks for the batches from one number to another again.
    async fn repeat(&self, from: u64, until: u64) -> io::Result<Vec<Batch>> {
        let config = self.shared.config.kv_events.as_ref();
        let port = config.and_then(|config| config.replay_port);
        let port = port.filter(|_| until - from <= MOST_REPEATED);
        let port = port.ok_or(io::ErrorKind::Unsupported)?;
        let mut socket = DealerSocket::new();
        let replay = async {
            socket.connect(&self.address(port.get())).await?;
            let frames = vec![Bytes::new(), Bytes::copy_from_slice(&from.to_be_bytes())];
            if let Ok(question) = ZmqMessage::try_from(frames) {
                socket.send(question).await?;
            }
            let mut batches = Vec::new();
            let mut expected = from;
            while expected < until {
                let message = socket.recv().await?;
                let Some((number, batch)) = numbered(&message) else {
                    break;
                };
                match (number == expected, batch) {
                    (true, batch) => {
                        batches.push(batch.unwrap_or_default());
                        expected += 1;
                    }
                    // It ends with a number that no batch has, and an empty payload.
                    (false, None) => break,
                    (false, Some(_)) => {}
                }
            }
            Ok::<_, zeromq::ZmqError>((batches, expected))
        };
        let replayed = timeout(PATIENCE, replay).await?;
        let (batches, reached) = replayed.map_err(io::Error::other)?;
        if reached == until {
            Ok(batches)
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }
}

/// The last two frames: a number of 8 bytes and a payload, if that can be read. A topic may stand
/// before them, and in an answer an empty frame.
fn numbered(message: &ZmqMessage) -> Option<(u64, Option<Batch>)> {
    let frames: Vec<&Bytes> = message.iter().collect();
    let [.., number, payload] = frames.as_slice() else {
        return None;
    };
    let number = <[u8; 8]>::try_from(number.as_ref()).ok()?;
    Some((u64::from_be_bytes(number), Batch::parse(payload)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_tells_what_was_missed() {
        let check = |expected, number, step| {
            assert_eq!(Step::of(expected, number), step, "{expected:?} {number}");
        };
        check(None, 5, Step::Next);
        check(Some(5), 5, Step::Next);
        check(Some(5), 9, Step::Gap(5));
        check(Some(5), 4, Step::Again);
        check(Some(5), 0, Step::Restart);
        check(Some(1), 0, Step::Again);
        check(Some(u64::MAX), u64::MAX, Step::Next);
        check(None, u64::MAX, Step::Next);
    }

    #[test]
    fn a_message_ends_with_its_number_and_its_payload() {
        let payload = Bytes::from(crate::kv_batch::encode(Vec::new()));
        let number = Bytes::copy_from_slice(&7_u64.to_be_bytes());
        let check = |frames: Vec<Bytes>, expected: Option<(u64, bool)>| {
            let message = ZmqMessage::try_from(frames).unwrap();
            let found = numbered(&message).map(|(number, batch)| (number, batch.is_some()));
            assert_eq!(found, expected, "{message:?}");
        };
        let topic = Bytes::from_static(b"kv-events");
        check(
            vec![topic.clone(), number.clone(), payload.clone()],
            Some((7, true)),
        );
        let answer = vec![Bytes::new(), topic, number.clone(), payload.clone()];
        check(answer, Some((7, true)));
        check(vec![number.clone(), payload.clone()], Some((7, true)));
        check(vec![payload.clone()], None);
        check(vec![payload, number.clone()], None);
        check(
            vec![Bytes::new(), Bytes::from_static(&[255; 8]), Bytes::new()],
            Some((u64::MAX, false)),
        );
    }
}
