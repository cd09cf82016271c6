//! Single turns behind shared prefixes.

use super::{Arrival, Call, Dice, Fresh, Node, Trace, Zipf};

const BLOCK_TOKENS: u32 = 64;

pub(super) fn rag_like(requests: usize, seed: u64) -> Trace {
    const TENANTS: usize = 200;
    const SPAN_MS: f64 = 1_800_000.0;
    let (mut dice, mut fresh, zipf) = (Dice::new(seed), Fresh::default(), Zipf::new(TENANTS, 0.9));
    let prefixes: Vec<Vec<Node>> = (0..TENANTS)
        .map(|_| {
            let blocks = between(&mut dice, 16, 64);
            fresh.take(blocks).collect()
        })
        .collect();
    let mut trace = Trace::new(BLOCK_TOKENS);
    let mut at_ms = 0.0;
    for number in 0..requests {
        at_ms += dice.wait(SPAN_MS / requests as f64);
        let Some(prefix) = prefixes.get(zipf.draw(&mut dice)) else {
            continue;
        };
        let tail = between(&mut dice, 64, 190);
        let blocks = u32::try_from(prefix.len()).unwrap_or(0) + tail;
        let output_tokens = between(&mut dice, 50, 400);
        let call = single(at_ms, blocks * BLOCK_TOKENS, output_tokens, number);
        let path = prefix.iter().copied().chain(fresh.take(tail));
        trace.push(call, path, [blocks - tail, blocks]);
    }
    trace
}

pub(super) fn groups(requests: usize, seed: u64) -> Trace {
    const GROUPS: usize = 64;
    const SPAN_MS: f64 = 1_200_000.0;
    let (mut dice, mut fresh) = (Dice::new(seed), Fresh::default());
    let prefixes: Vec<Vec<Node>> = (0..GROUPS).map(|_| fresh.take(32).collect()).collect();
    let mut trace = Trace::new(BLOCK_TOKENS);
    let mut at_ms = 0.0;
    for number in 0..requests {
        at_ms += dice.wait(SPAN_MS / requests as f64);
        if let Some(prefix) = prefixes.get(dice.below(GROUPS)) {
            let call = single(at_ms, 34 * BLOCK_TOKENS, 256, number);
            trace.push(call, prefix.iter().copied().chain(fresh.take(2)), [32, 34]);
        }
    }
    trace
}

fn single(at_ms: f64, input_tokens: u32, output_tokens: u32, number: usize) -> Call {
    let session = u32::try_from(number).unwrap_or(u32::MAX);
    Call {
        arrival: Arrival::AtMs(at_ms),
        input_tokens,
        output_tokens,
        session,
        turn: 0,
    }
}

fn between(dice: &mut Dice, least: u32, most: u32) -> u32 {
    let span = (most - least) as usize + 1;
    least + u32::try_from(dice.below(span)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shapes_are_the_described_ones() {
        let share = |trace: &Trace| {
            let hits: u64 = trace.ideal_hits().iter().map(|hit| u64::from(*hit)).sum();
            hits as f64 / trace.input_tokens() as f64
        };
        let rag = rag_like(12_000, 1);
        let mean = rag.input_tokens() as f64 / rag.len() as f64;
        assert!((10_000.0..11_500.0).contains(&mean), "{mean}");
        assert!((0.2..0.27).contains(&share(&rag)), "{}", share(&rag));
        let groups = groups(20_000, 1);
        assert!(
            (0.93..0.945).contains(&share(&groups)),
            "{}",
            share(&groups)
        );
        assert_eq!(rag_like(50, 3), rag_like(50, 3));
    }
}
