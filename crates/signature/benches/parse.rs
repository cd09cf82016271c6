//! What reading and naming costs: `cargo bench -p headwater-signature`. Prints, asserts nothing.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_macros,
    reason = "the crate is pure; its stopwatch cannot be"
)]

use std::hint::black_box;
use std::time::Instant;

use headwater_signature::{BlockSize, PrefixHash, Rung, Scheme, Signature};

fn main() {
    let seed = scheme().seed();
    for count in [1, 8, 12, 16] {
        let header = header(count);
        measure(
            &format!("parse, {count} rungs, {} bytes", header.len()),
            500,
            || {
                black_box(Signature::parse(black_box(header.as_bytes())).is_ok());
            },
        );
    }
    let tokens: Vec<u32> = (0..100_000).collect();
    measure("chain, 100,000 tokens", 1, || {
        let mut chain = seed.chain();
        chain.extend(black_box(&tokens));
        black_box(chain.hashes().len());
    });
}

/// Prints the fastest of many rounds, each short enough to run without being interrupted: on a
/// busy machine the others say how busy it is.
fn measure(what: &str, times: u32, mut work: impl FnMut()) {
    let mut round = || {
        let start = Instant::now();
        (0..times).for_each(|_| work());
        start.elapsed() / times
    };
    let best = (0..400).map(|_| round()).min().unwrap_or_default();
    println!("{what}: {best:?}");
}

fn header(rungs: u32) -> String {
    let rungs: Vec<Rung> = (1..=rungs)
        .map(|at| Rung {
            blocks: at * 10,
            hash: PrefixHash::from_bytes([at.to_le_bytes()[0]; 8]),
        })
        .collect();
    let fingerprint = scheme().seed().fingerprint();
    Signature::new(BlockSize::default(), 0, fingerprint, &rungs, None)
        .map_or_else(|error| error.to_string(), |s| s.to_string())
}

fn scheme() -> Scheme<'static> {
    Scheme {
        tokenizer: "bytes",
        template: "none",
        cleaning: "1",
        block: BlockSize::default(),
        add_special_tokens: false,
        model: "demo",
        salt: None,
    }
}
