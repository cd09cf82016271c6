//! Mooncake's JSONL and traces derived in its form: a name for each block of each prompt.

use std::io::BufRead;

use serde::Deserialize;

use super::growth::{Row, Rows, Tree};
use super::{Lines, TraceError, json, tokens};
use crate::sessions;
use crate::trace::{Arrival, Call, Trace};

#[derive(Deserialize)]
struct Line {
    timestamp: f64,
    input_length: u64,
    output_length: u64,
    hash_ids: Vec<u64>,
    session_id: Option<u64>,
    boundaries: Option<Vec<u32>>,
    block_size: Option<u32>,
}

/// Sizes of blocks that traces are published with.
const USUAL_BLOCKS: [u32; 8] = [16, 32, 64, 128, 256, 512, 1_024, 2_048];
/// Requests that have to agree on the size of a block.
const WITNESSES: usize = 200;

pub(super) fn read<R: BufRead>(
    lines: &mut Lines<R>,
    block_tokens: Option<u32>,
) -> Result<Trace, TraceError> {
    let (mut rows, mut tree) = (Rows::default(), Tree::default());
    let mut sizes: Vec<Witness> = Vec::new();
    let mut told = None;
    let (number, text) = lines.current();
    let mut next: Option<(_, Line)> = Some((number, json(number, text)?));
    while let Some((number, line)) = next {
        let input_tokens = tokens(number, "input_length", line.input_length)?.max(1);
        let output_tokens = tokens(number, "output_length", line.output_length)?;
        // A prompt without names says nothing of their size.
        if sizes.len() < WITNESSES && !line.hash_ids.is_empty() {
            sizes.push(Witness {
                line: number,
                tokens: input_tokens,
                blocks: line.hash_ids.len(),
            });
        }
        told = told.or(line.block_size.filter(|size| *size > 0));
        let call = Call {
            arrival: Arrival::AtMs(0.0),
            input_tokens,
            output_tokens,
            session: 0,
            turn: 0,
        };
        let row = Row {
            call,
            at_ms: line.timestamp,
            path: tree.path(line.hash_ids),
            borders: line.boundaries,
            session: line.session_id,
        };
        rows.push(number, row)?;
        next = match lines.next_line()? {
            Some((number, text)) => Some((number, json(number, text)?)),
            None => None,
        };
    }
    let block = match block_tokens.or(told) {
        Some(block) => block,
        None => block_size(&sizes)?,
    };
    Ok(sessions::assemble(rows.rows, block))
}

/// What one prompt says of the size of a block.
struct Witness {
    line: usize,
    tokens: u32,
    blocks: usize,
}

/// The size that makes every prompt so many whole blocks, or one more for what is left; or the first
/// line that fits no size which those before it have.
fn block_size(witnesses: &[Witness]) -> Result<u32, TraceError> {
    let mut sizes = USUAL_BLOCKS.to_vec();
    for Witness {
        line,
        tokens,
        blocks,
    } in witnesses
    {
        sizes.retain(|size| {
            [tokens / size, tokens.div_ceil(*size)].contains(&u32::try_from(*blocks).unwrap_or(0))
        });
        if sizes.is_empty() {
            let what = format!(
                "{tokens} tokens in {blocks} `hash_ids` fit no size of a block that the lines before fit: \
                 give it with `--block N`, or as `block_size` in the first line"
            );
            return Err(TraceError::at(*line, what));
        }
    }
    match (witnesses, sizes.first()) {
        ([_, ..], Some(size)) => Ok(*size),
        _ => Err(TraceError::whole(
            "no prompt says how large a block is: give it with `--block N`",
        )),
    }
}
