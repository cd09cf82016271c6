//! How long a decision and a dispatch take: `cargo bench -p headwater-placement`.
#![expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]
#![expect(clippy::disallowed_macros, reason = "a benchmark prints")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use headwater_placement::{
    At, Event, Fleet, KeySource, Request, RequestId, Settings, WorkerId, WorkerState,
};
use headwater_signature::{BlockSize, Fingerprint, PrefixHash, Rung, Signature};

const CONVERSATIONS: usize = 8_000;
const BATCH: usize = CONVERSATIONS;
const BATCHES: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:>8} {:>6} {:>12} {:>12}",
        "workers", "rungs", "place ns", "dispatch ns"
    );
    for workers in [4, 32, 128] {
        for rungs in [1, 8, 12] {
            let (place, dispatch) = run(workers, rungs)?;
            println!("{workers:>8} {rungs:>6} {place:>12} {dispatch:>12}");
        }
    }
    Ok(())
}

/// Nanoseconds for a decision and for a dispatch with its end, on a full table.
fn run(workers: usize, rungs: u32) -> Result<(u128, u128), Box<dyn Error>> {
    let mut fleet = Fleet::new(Settings::default())?;
    let at = At::default();
    for number in 0..workers {
        let name = format!("worker-{number}");
        let worker = WorkerId::of(&name);
        fleet.observe(
            at,
            &Event::Joined {
                worker,
                name: &name,
                weight: 1.0,
            },
        );
        fleet.observe(
            at,
            &Event::State {
                worker,
                state: WorkerState::Ready,
            },
        );
    }
    let signatures: Vec<Signature> = (0_u64..)
        .take(CONVERSATIONS)
        .map(|text| signature(text, rungs))
        .collect::<Result<_, _>>()?;
    let requests = || {
        signatures
            .iter()
            .zip(0_u64..)
            .map(|(s, key)| request(s, key))
            .cycle()
    };

    let mut ids = 0_u64..;
    let mut both = || -> Result<(), Box<dyn Error>> {
        for (request, id) in requests().zip(ids.by_ref()).take(BATCH) {
            let worker = fleet.place(at, &request)?.worker;
            let (id, of) = (RequestId(id), &request);
            fleet.observe(
                at,
                &Event::Dispatched {
                    worker,
                    request: id,
                    of,
                },
            );
            fleet.observe(
                at,
                &Event::Finished {
                    worker,
                    request: id,
                },
            );
        }
        Ok(())
    };
    let both = fastest(&mut both)?;
    let place = fastest(&mut || {
        for request in requests().take(BATCH) {
            black_box(fleet.place(at, black_box(&request))?);
        }
        Ok(())
    })?;
    Ok((place, both.saturating_sub(place)))
}

/// Nanoseconds for one of a batch, in the fastest batch: the others were disturbed.
fn fastest(batch: &mut dyn FnMut() -> Result<(), Box<dyn Error>>) -> Result<u128, Box<dyn Error>> {
    let mut best = u128::MAX;
    for _ in 0..BATCHES {
        let start = Instant::now();
        batch()?;
        best = best.min(start.elapsed().as_nanos() / BATCH as u128);
    }
    Ok(best)
}

/// A conversation's prompt: its first rung is shared by a hundred others.
fn signature(text: u64, rungs: u32) -> Result<Signature, Box<dyn Error>> {
    let hash = |blocks: u32| {
        let text = if blocks == 1 {
            text / 100
        } else {
            text + 1_000_000
        };
        let name = (text ^ (u64::from(blocks) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        PrefixHash::from_bytes(name.to_be_bytes())
    };
    let rungs: Vec<_> = (1..=rungs)
        .map(|blocks| Rung {
            blocks,
            hash: hash(blocks),
        })
        .collect();
    let block = BlockSize::new(16).ok_or("a block has tokens")?;
    Ok(Signature::new(
        block,
        4_000,
        Fingerprint::from_bytes([1; 8]),
        &rungs,
        None,
    )?)
}

fn request(signature: &Signature, key: u64) -> Request<'_> {
    let key_source = KeySource::Affinity;
    Request {
        signature: Some(signature),
        affinity: Some(key),
        key_source,
        excluded: &[],
    }
}
