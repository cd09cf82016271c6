//! A fleet with its clock and its counters, so that a test reads as a story.

use headwater_placement::{
    At, Decision, Event, Fleet, Generation, KeySource, NoWorker, Report, Request, RequestId,
    Settings, WorkerId, WorkerState,
};
use headwater_signature::{
    BlockSize, Fingerprint, PrefixHash, RouteEcho, RouteTag, Rung, Signature,
};

/// Tokens of a block in every test.
pub(crate) const BLOCK: u32 = 16;

pub(crate) struct World {
    pub(crate) fleet: Fleet,
    pub(crate) ms: u64,
    requests: u64,
    /// Where the latest dispatch went.
    pub(crate) sent_to: Option<WorkerId>,
}

impl World {
    /// That many ready workers of weight 1, named `w0`, `w1` …
    pub(crate) fn of(workers: usize, settings: Settings) -> Self {
        let mut world = Self {
            fleet: Fleet::new(settings).unwrap(),
            ms: 0,
            requests: 0,
            sent_to: None,
        };
        for number in 0..workers {
            world.join(&format!("w{number}"), 1.0);
        }
        world
    }

    pub(crate) fn join(&mut self, name: &str, weight: f64) {
        let worker = WorkerId::of(name);
        self.tell(&Event::Joined {
            worker,
            name,
            weight,
        });
        self.state(worker, WorkerState::Ready);
    }

    pub(crate) fn now(&self) -> At {
        At::from_micros(self.ms * 1_000)
    }

    pub(crate) fn tell(&mut self, event: &Event<'_>) {
        if let Event::Dispatched { worker, .. } = event {
            self.sent_to = Some(*worker);
        }
        self.fleet.observe(At::from_micros(self.ms * 1_000), event);
    }

    pub(crate) fn state(&mut self, worker: WorkerId, state: WorkerState) {
        self.tell(&Event::State { worker, state });
    }

    pub(crate) fn restart(&mut self, worker: WorkerId, generation: u64) {
        self.tell(&Event::Generation {
            worker,
            generation: Generation::started(generation),
        });
    }

    pub(crate) fn kv(&mut self, worker: WorkerId, kv_use: f64) {
        self.report(
            worker,
            Report {
                kv_use: Some(kv_use),
                ..Report::default()
            },
        );
    }

    pub(crate) fn report(&mut self, worker: WorkerId, report: Report) {
        self.tell(&Event::Reported { worker, report });
    }

    pub(crate) fn place(&self, request: &Request<'_>) -> Result<Decision, NoWorker> {
        self.fleet.place(At::from_micros(self.ms * 1_000), request)
    }

    /// Every worker that may get it, most preferred first.
    pub(crate) fn candidates(&self, request: &Request<'_>) -> Vec<WorkerId> {
        let at = At::from_micros(self.ms * 1_000);
        self.fleet.candidates(at, request)
    }

    /// Places a request and sends it where it was placed.
    pub(crate) fn send(&mut self, request: &Request<'_>) -> (Decision, RequestId) {
        let decision = self.place(request).unwrap();
        let id = self.send_to(decision.worker, request);
        (decision, id)
    }

    /// Sends a request somewhere, wherever it belongs.
    pub(crate) fn send_to(&mut self, worker: WorkerId, of: &Request<'_>) -> RequestId {
        self.requests += 1;
        let request = RequestId(self.requests);
        self.tell(&Event::Dispatched {
            worker,
            request,
            of,
        });
        request
    }

    /// Sends a request and lets it be answered to its end.
    pub(crate) fn serve(&mut self, request: &Request<'_>) -> Decision {
        let (decision, id) = self.send(request);
        self.finish(decision.worker, id);
        decision
    }

    pub(crate) fn finish(&mut self, worker: WorkerId, request: RequestId) {
        self.tell(&Event::FirstByte { worker, request });
        self.tell(&Event::Finished { worker, request });
    }

    pub(crate) fn fail(&mut self, worker: WorkerId, request: RequestId) {
        self.tell(&Event::Failed { worker, request });
    }

    pub(crate) fn tag(&self, worker: WorkerId) -> RouteTag {
        self.fleet.worker(worker).unwrap().route_tag
    }
}

/// A prompt of that many tokens; two with the same `text` share every prefix of equal length.
pub(crate) fn prompt(text: u64, tokens: u32) -> Signature {
    let whole = tokens / BLOCK;
    let mut blocks = vec![whole / 4, whole / 2, whole];
    blocks.retain(|b| *b > 0);
    blocks.dedup();
    named(text, tokens, &blocks)
}

/// A prompt with rungs at these blocks.
pub(crate) fn named(text: u64, tokens: u32, blocks: &[u32]) -> Signature {
    let rung = |blocks: &u32| {
        let name = text.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(*blocks);
        Rung {
            blocks: *blocks,
            hash: PrefixHash::from_bytes(name.to_be_bytes()),
        }
    };
    let rungs: Vec<Rung> = blocks.iter().map(rung).collect();
    let block = BlockSize::new(BLOCK).unwrap();
    Signature::new(block, tokens, Fingerprint::from_bytes([7; 8]), &rungs, None).unwrap()
}

pub(crate) fn echoing(signature: Signature, tag: RouteTag, tokens: u32) -> Signature {
    signature.with_echo(RouteEcho { tag, tokens })
}

/// A signed request of a conversation.
pub(crate) fn signed(signature: &Signature, key: u64) -> Request<'_> {
    Request {
        signature: Some(signature),
        ..keyed(key)
    }
}

/// A request without a signature, of a conversation.
pub(crate) fn keyed(key: u64) -> Request<'static> {
    Request {
        affinity: Some(key),
        key_source: KeySource::Affinity,
        ..Request::ANONYMOUS
    }
}
