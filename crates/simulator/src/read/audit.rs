//! Headwater's own audit lines: a prompt is known by the names in its header alone.

use std::io::BufRead;

use headwater_signature::Signature;
use serde::Deserialize;

use super::growth::{Row, Rows, Tree};
use super::{Lines, MAX_PROMPT_BLOCKS, TraceError, json, tokens};
use crate::dice::{mix, mix_two};
use crate::sessions;
use crate::trace::{Arrival, Call, Trace};

#[derive(Deserialize)]
struct Line {
    at_ms: f64,
    signature: String,
    affinity: Option<String>,
    output_tokens: u64,
}

/// Reads the lines. Between two names of a header the blocks are taken to be shared only by
/// prompts that have the longer name too: reuse is never overestimated.
pub(super) fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Trace, TraceError> {
    let (mut rows, mut tree) = (Rows::default(), Tree::default());
    let mut block = None;
    let (number, text) = lines.current();
    let mut next: Option<(_, Line)> = Some((number, json(number, text)?));
    while let Some((number, line)) = next {
        let signature = signature(number, &line.signature)?;
        let size = signature.block().get();
        if *block.get_or_insert(size) != size {
            return Err(TraceError::at(
                number,
                "another block size than in the lines before",
            ));
        }
        let longest = signature.rungs().last().map_or(0, |rung| rung.blocks);
        if longest as usize > MAX_PROMPT_BLOCKS {
            return Err(TraceError::at(
                number,
                format!("more than {MAX_PROMPT_BLOCKS} blocks in a prompt"),
            ));
        }
        let input_tokens = match signature.tokens() {
            0 => longest.saturating_mul(size).saturating_add(1),
            known => known,
        };
        let input_tokens = tokens(number, "n", u64::from(input_tokens))?.max(1);
        let output_tokens = tokens(number, "output_tokens", line.output_tokens)?;
        let session = line.affinity.map(|key| {
            key.bytes()
                .fold(0, |hash, byte| mix_two(hash, u64::from(byte)))
        });
        let call = Call {
            arrival: Arrival::AtMs(0.0),
            input_tokens,
            output_tokens,
            session: 0,
            turn: 0,
        };
        let row = Row {
            call,
            at_ms: line.at_ms,
            path: tree.path(blocks(&signature)),
            borders: Some(signature.rungs().iter().map(|rung| rung.blocks).collect()),
            session,
        };
        rows.push(number, row)?;
        next = match lines.next_line()? {
            Some((number, text)) => Some((number, json(number, text)?)),
            None => None,
        };
    }
    Ok(sessions::assemble(rows.rows, block.unwrap_or(1)))
}

fn signature(number: usize, header: &str) -> Result<Signature, TraceError> {
    match Signature::parse(header.as_bytes()) {
        Ok(Some(signature)) => Ok(signature),
        Ok(None) => Err(TraceError::at(number, "a signature of another version")),
        Err(error) => Err(TraceError::at(number, format!("`signature`: {error}"))),
    }
}

/// A name for each block up to the longest rung, made of the rung that it belongs to.
fn blocks(signature: &Signature) -> Vec<u64> {
    let fingerprint = mix(u64::from_le_bytes(*signature.fingerprint().as_bytes()));
    let mut names = Vec::new();
    let mut before = 0;
    for rung in signature.rungs() {
        let hash = mix_two(fingerprint, u64::from_le_bytes(*rung.hash.as_bytes()));
        names.extend((before..rung.blocks).map(|at| mix_two(hash, u64::from(at))));
        before = rung.blocks;
    }
    names
}
