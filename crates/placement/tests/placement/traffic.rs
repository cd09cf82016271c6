//! Conversations on a small fleet in virtual time: what placing by name is worth.
//!
//! Workers prefill one prompt after the other by the default model and never evict; each turn
//! brings the whole conversation again. Small and exact, not a simulator of engines.

use std::collections::BTreeMap;

use headwater_placement::{
    At, Event, Fleet, KeySource, Policy, PrefillModel, Request, RequestId, Settings, WorkerId,
    WorkerState,
};
use headwater_signature::{
    BlockSize, Fingerprint, PrefixHash, RouteEcho, RouteTag, Rung, Signature,
};

const WORKERS: usize = 4;
const CONVERSATIONS: u64 = 80;
const TENANTS: u64 = 5;
const TURNS: u32 = 5;
const BLOCK: u32 = 16;
/// Blocks of a tenant's system prompt, and those that each turn adds.
const SYSTEM: u32 = 100;
const TURN: u32 = 60;

/// What came of it.
#[derive(Debug, Default)]
struct Outcome {
    /// Tokens of turns 2 and later, and those of the turn before that were found in a cache.
    asked_tokens: u64,
    hit_tokens: u64,
    first_byte_ms: f64,
    served: BTreeMap<WorkerId, u32>,
}

impl Outcome {
    fn hit_rate(&self) -> f64 {
        self.hit_tokens as f64 / self.asked_tokens as f64
    }
}

#[derive(Clone, Copy, Debug)]
enum Due {
    Ask(Turn),
    FirstByte(usize, WorkerId, RequestId),
    End(usize, WorkerId, RequestId),
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    conversation: u64,
    number: u32,
    echo: Option<RouteEcho>,
}

impl Turn {
    fn tokens(self) -> u32 {
        (SYSTEM + self.number * TURN) * BLOCK + 5
    }

    fn rungs(self) -> Vec<Rung> {
        let tenant = self.conversation % TENANTS;
        let rung = |text: u64, blocks: u32| {
            let name = mix(text ^ (u64::from(blocks) << 32));
            Rung {
                blocks,
                hash: PrefixHash::from_bytes(name.to_be_bytes()),
            }
        };
        let turns = (1..=self.number).map(|n| rung(1_000 + self.conversation, SYSTEM + n * TURN));
        std::iter::once(rung(tenant, SYSTEM)).chain(turns).collect()
    }

    fn signature(self) -> Signature {
        let (block, scheme) = (
            BlockSize::new(BLOCK).unwrap(),
            Fingerprint::from_bytes([3; 8]),
        );
        Signature::new(block, self.tokens(), scheme, &self.rungs(), self.echo).unwrap()
    }
}

/// The same numbers in every run.
fn mix(input: u64) -> u64 {
    let a = (input ^ (input >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let b = (a ^ (a >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    b ^ (b >> 33)
}

/// Runs all conversations through that many routers, each turn through any of them.
fn run(routers: usize, settings: &Settings) -> Outcome {
    let mut fleets: Vec<Fleet> = (0..routers).map(|_| fleet(settings)).collect();
    let mut caches: BTreeMap<WorkerId, BTreeMap<PrefixHash, u32>> = BTreeMap::new();
    let mut idle_at: BTreeMap<WorkerId, u64> = BTreeMap::new();
    let mut due: BTreeMap<(u64, u64), Due> = BTreeMap::new();
    for conversation in 0..CONVERSATIONS {
        let turn = Turn {
            conversation,
            number: 1,
            echo: None,
        };
        due.insert(
            (mix(conversation) % 6_000_000, conversation),
            Due::Ask(turn),
        );
    }
    let mut outcome = Outcome::default();
    let mut ids = CONVERSATIONS..;
    while let Some(((now, _), next)) = due.pop_first() {
        let at = At::from_micros(now);
        let turn = match next {
            Due::FirstByte(router, worker, request) => {
                fleets[router].observe(at, &Event::FirstByte { worker, request });
                continue;
            }
            Due::End(router, worker, request) => {
                fleets[router].observe(at, &Event::Finished { worker, request });
                continue;
            }
            Due::Ask(turn) => turn,
        };
        let seed = mix(turn.conversation << 8 | u64::from(turn.number));
        let router = usize::try_from(seed % routers as u64).unwrap();
        let (signature, fleet) = (turn.signature(), &mut fleets[router]);
        let of = Request {
            signature: Some(&signature),
            affinity: Some(mix(turn.conversation)),
            key_source: KeySource::Affinity,
            body_bytes: None,
            excluded: &[],
        };
        let worker = fleet.place(at, &of).unwrap().worker;
        let id = ids.next().unwrap();
        let request = RequestId(id);
        fleet.observe(
            at,
            &Event::Dispatched {
                worker,
                request,
                of: &of,
            },
        );

        let cache = caches.entry(worker).or_default();
        let rungs = turn.rungs();
        let hit = rungs
            .iter()
            .filter(|r| cache.contains_key(&r.hash))
            .map(|r| r.blocks)
            .max();
        let hit = hit.unwrap_or(0) * BLOCK;
        cache.extend(rungs.iter().map(|r| (r.hash, r.blocks)));
        let prefill_ms = PrefillModel::default().ms(turn.tokens() - hit, hit);
        let idle = idle_at.entry(worker).or_default();
        #[expect(clippy::cast_possible_truncation, reason = "some hundred milliseconds")]
        let first_byte = now.max(*idle) + (prefill_ms * 1_000.0) as u64;
        *idle = first_byte;
        let end = first_byte + 800_000;
        due.insert((first_byte, id), Due::FirstByte(router, worker, request));
        due.insert((end, id), Due::End(router, worker, request));

        outcome.first_byte_ms += (first_byte - now) as f64 / 1_000.0;
        *outcome.served.entry(worker).or_default() += 1;
        if turn.number > 1 {
            outcome.asked_tokens += u64::from((SYSTEM + (turn.number - 1) * TURN) * BLOCK);
            outcome.hit_tokens += u64::from(hit);
        }
        if turn.number < TURNS {
            let tag: RouteTag = fleet.worker(worker).unwrap().route_tag;
            let echo = Some(RouteEcho {
                tag,
                tokens: turn.tokens(),
            });
            let next = Turn {
                number: turn.number + 1,
                echo,
                ..turn
            };
            due.insert(
                (end + 500_000 + seed % 3_000_000, u64::MAX - id),
                Due::Ask(next),
            );
        }
    }
    outcome.first_byte_ms /= f64::from(outcome.served.values().sum::<u32>());
    outcome
}

fn fleet(settings: &Settings) -> Fleet {
    let mut fleet = Fleet::new(settings.clone()).unwrap();
    for number in 0..WORKERS {
        let name = format!("worker-{number}");
        let worker = WorkerId::of(&name);
        fleet.observe(
            At::default(),
            &Event::Joined {
                worker,
                name: &name,
                weight: 1.0,
            },
        );
        fleet.observe(
            At::default(),
            &Event::State {
                worker,
                state: WorkerState::Ready,
            },
        );
    }
    fleet
}

fn by(policy: Policy) -> Settings {
    Settings {
        policy,
        ..Settings::default()
    }
}

#[test]
fn conversations_stay_warm_and_everybody_works() {
    let ours = run(1, &by(Policy::Cost));
    let baselines = [Policy::RoundRobin, Policy::LeastRequests].map(|p| run(1, &by(p)));
    assert!(ours.hit_rate() > 0.95, "{ours:?}");
    for baseline in &baselines {
        assert!(baseline.hit_rate() < 0.75, "{baseline:?}");
        assert!(
            ours.first_byte_ms < 0.5 * baseline.first_byte_ms,
            "{ours:?} {baseline:?}"
        );
    }
    let fair = u32::try_from(CONVERSATIONS).unwrap() * TURNS / u32::try_from(WORKERS).unwrap();
    assert_eq!(ours.served.len(), WORKERS);
    assert!(
        ours.served.values().all(|n| *n > fair / 2 && *n < fair * 2),
        "{ours:?}"
    );
}

#[test]
fn the_echo_keeps_conversations_warm_over_routers_that_share_nothing() {
    let (one, four) = (run(1, &by(Policy::Cost)), run(4, &by(Policy::Cost)));
    assert!(four.hit_rate() > one.hit_rate() - 0.05, "{one:?} {four:?}");
}
