//! Prints pairs of prompts with what an engine should take from its cache for the second of each.
//!
//! ```text
//! cargo run -p headwater --example ground_truth -- tokenizer.json 16
//! ```
//!
//! One JSON line a pair: two requests as they are sent, their tokens, the engine's names for
//! their blocks, the equal leading tokens, and the prediction. `tests/engine/vllm` sends them to
//! a real engine. The tokenizer is that of Qwen3, whose chat template the pairs assume.

use std::error::Error;
use std::io::Write;

use headwater::signature::BlockSize;

mod cases;
mod document;
mod edits;
mod line;
mod pair;
mod tools;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: ground_truth TOKENIZER.JSON BLOCK";
    let file = arguments.next().ok_or(usage)?;
    let block = arguments.next().ok_or(usage)?.parse()?;
    let block = BlockSize::new(block).ok_or("a block is 1 to 65,536 tokens")?;

    let sdk = pair::Sdk::new(file.as_ref(), block)?;
    let mut out = std::io::stdout().lock();
    for pair in cases::all(&sdk)? {
        for line in line::lines(&pair, block)? {
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
        }
    }
    Ok(())
}
