//! Makes decisions, for counting instructions: the difference between two runs of different
//! length is what a decision costs, and it does not depend on what else the machine does.
//!
//! ```text
//! cargo build --release -p headwater-placement --example decisions
//! for n in 0 10000; do
//!     valgrind --tool=callgrind --callgrind-out-file=/dev/null \
//!         target/release/examples/decisions place 32 12 $n
//! done
//! ```
#![expect(clippy::disallowed_macros, reason = "an example prints")]

use std::error::Error;
use std::hint::black_box;

use headwater_placement::{
    At, Event, Fleet, KeySource, Request, RequestId, Settings, WorkerId, WorkerState,
};
use headwater_signature::{BlockSize, Fingerprint, PrefixHash, Rung, Signature};

/// Different prompts that the fleet has served.
const CONVERSATIONS: u64 = 8_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, workers, rungs, count] = &arguments[..] else {
        return Err("what to do (place or life), workers, rungs, how often".into());
    };
    let (workers, rungs, count) = (workers.parse()?, rungs.parse()?, count.parse()?);
    let mut fleet = fleet(workers)?;
    let signatures: Vec<Signature> = (0..CONVERSATIONS)
        .map(|text| signature(text, rungs))
        .collect::<Result<_, _>>()?;
    for (signature, key) in signatures.iter().zip(0..) {
        live(&mut fleet, &request(signature, key), RequestId(key))?;
    }
    let requests = signatures.iter().zip(0_u64..).cycle().take(count);
    match what.as_str() {
        "place" => {
            for (signature, key) in requests {
                black_box(fleet.place(At::default(), black_box(&request(signature, key)))?);
            }
        }
        _ => {
            for (signature, key) in requests {
                live(&mut fleet, &request(signature, key), RequestId(key))?;
            }
        }
    }
    println!("{} names", fleet.residency_len());
    Ok(())
}

/// A request from its decision to its end.
fn live(fleet: &mut Fleet, of: &Request<'_>, request: RequestId) -> Result<(), Box<dyn Error>> {
    let at = At::default();
    let worker = fleet.place(at, of)?.worker;
    fleet.observe(
        at,
        &Event::Dispatched {
            worker,
            request,
            of,
        },
    );
    fleet.observe(at, &Event::FirstByte { worker, request });
    fleet.observe(at, &Event::Finished { worker, request });
    Ok(())
}

fn fleet(workers: usize) -> Result<Fleet, Box<dyn Error>> {
    let mut fleet = Fleet::new(Settings::default())?;
    let at = At::default();
    for number in 0..workers {
        let name = format!("worker-{number}");
        let worker = WorkerId::of(&name);
        let weight = 1.0;
        fleet.observe(
            at,
            &Event::Joined {
                worker,
                name: &name,
                weight,
            },
        );
        let state = WorkerState::Ready;
        fleet.observe(at, &Event::State { worker, state });
    }
    Ok(fleet)
}

/// A conversation's prompt: its first rung is shared by a hundred others.
fn signature(text: u64, rungs: u32) -> Result<Signature, Box<dyn Error>> {
    let hash = |step: u32| {
        let text = if step == 1 {
            text / 100
        } else {
            text + 1_000_000
        };
        let name = (text ^ (u64::from(step) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        PrefixHash::from_bytes(name.to_be_bytes())
    };
    let rungs: Vec<_> = (1..=rungs)
        .map(|step| Rung {
            blocks: 20 * step,
            hash: hash(step),
        })
        .collect();
    let block = BlockSize::new(16).ok_or("a block has tokens")?;
    let scheme = Fingerprint::from_bytes([1; 8]);
    Ok(Signature::new(block, 4_000, scheme, &rungs, None)?)
}

fn request(signature: &Signature, key: u64) -> Request<'_> {
    Request {
        signature: Some(signature),
        affinity: Some(key),
        key_source: KeySource::Affinity,
        body_bytes: None,
        excluded: &[],
    }
}
