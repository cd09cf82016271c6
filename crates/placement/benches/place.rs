//! How long a decision and a whole life take on a full table: `cargo bench -p headwater-placement`.
//!
//! Counts of instructions, which do not depend on what else the machine does: see
//! `examples/decisions.rs`.
#![expect(clippy::expect_used, reason = "a benchmark may stop at a surprise")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use headwater_placement::{
    At, Event, Fleet, KeySource, NoWorker, Request, RequestId, Settings, WorkerId, WorkerState,
};
use headwater_signature::{BlockSize, Fingerprint, PrefixHash, Rung, Signature};

/// Names of a prompt.
const RUNGS: u32 = 12;

fn decisions(c: &mut Criterion) {
    let mut group = c.benchmark_group("decision of 12 rungs");
    for workers in [4, 32, 256] {
        let (mut fleet, signatures) = full(workers);
        let mut turn = (0..signatures.len()).cycle();
        group.bench_function(BenchmarkId::new("place", workers), |b| {
            b.iter(|| {
                let text = turn.next().unwrap_or_default();
                fleet.place(At::default(), &request(black_box(&signatures[text]), text))
            });
        });
        group.bench_function(BenchmarkId::new("place, dispatch, end", workers), |b| {
            b.iter(|| {
                let text = turn.next().unwrap_or_default();
                live(&mut fleet, &request(&signatures[text], text), text)
            });
        });
    }
    group.finish();
}

/// A fleet that has served as many conversations as its table has room for, and their prompts.
fn full(workers: usize) -> (Fleet, Vec<Signature>) {
    let mut fleet = Fleet::new(Settings::default()).expect("the default is in range");
    let at = At::default();
    for number in 0..workers {
        let name = format!("worker-{number}");
        let (worker, weight, state) = (WorkerId::of(&name), 1.0, WorkerState::Ready);
        fleet.observe(
            at,
            &Event::Joined {
                worker,
                name: &name,
                weight,
            },
        );
        fleet.observe(at, &Event::State { worker, state });
    }
    let conversations = workers * 2_048 / RUNGS as usize;
    let signatures: Vec<_> = (0..conversations as u64).map(signature).collect();
    for (text, signature) in signatures.iter().enumerate() {
        live(&mut fleet, &request(signature, text), text).expect("there are workers");
    }
    (fleet, signatures)
}

/// A request from its decision to its end.
fn live(fleet: &mut Fleet, of: &Request<'_>, text: usize) -> Result<(), NoWorker> {
    let (at, request) = (At::default(), RequestId(text as u64));
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

/// A conversation's prompt: its first rung is shared by a hundred others.
fn signature(text: u64) -> Signature {
    let hash = |step: u32| {
        let text = if step == 1 {
            text / 100
        } else {
            text + 1_000_000
        };
        let name = (text ^ (u64::from(step) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        PrefixHash::from_bytes(name.to_be_bytes())
    };
    let rung = |step| Rung {
        blocks: 20 * step,
        hash: hash(step),
    };
    let rungs: Vec<_> = (1..=RUNGS).map(rung).collect();
    let block = BlockSize::new(16).expect("a block has tokens");
    let scheme = Fingerprint::from_bytes([1; 8]);
    Signature::new(block, 4_000, scheme, &rungs, None).expect("the rungs rise")
}

fn request(signature: &Signature, text: usize) -> Request<'_> {
    Request {
        signature: Some(signature),
        affinity: Some(text as u64),
        key_source: KeySource::Affinity,
        body_bytes: None,
        excluded: &[],
    }
}

criterion_group!(benches, decisions);
criterion_main!(benches);
