//! Prints the token ids of prompts, one JSON line in, one JSON line out.
//!
//! ```text
//! echo '[{"marker": "<|im_start|>"}, {"text": "user\nIs the ferry late?"}]' \
//!     | cargo run -p headwater --example encode -- tokenizer.json
//! ```
//!
//! A line is the list of a prompt's parts: text of callers, and markers of the renderer. Options
//! behind the file: `control` takes control tokens that are spelled out in text as such,
//! `added` adds the vocabulary's start and end tokens, `whole` keeps no text and starts no
//! thread. The same ids come out with and without `whole`.

use std::error::Error;
use std::io::{BufRead, Write};
use std::num::NonZeroUsize;
use std::ops::Range;

use headwater::{ControlText, HfTokenizer, SpecialTokens, Tokenize};
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments
        .next()
        .ok_or("usage: encode TOKENIZER.JSON [control] [added] [whole]")?;
    let options: Vec<String> = arguments.collect();
    let tokenizer = load(&file, &options)?;

    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let (text, markers) = prompt(&serde_json::from_str(&line?)?)?;
        tokenizer.check(&text)?;
        let tokens = tokenizer.encode(&text, &markers)?;
        writeln!(out, "{}", Value::from(tokens.ids))?;
    }
    Ok(())
}

fn load(file: &str, options: &[String]) -> Result<HfTokenizer> {
    let special_tokens = if options.iter().any(|option| option == "added") {
        SpecialTokens::Added
    } else {
        SpecialTokens::Omitted
    };
    let mut tokenizer = HfTokenizer::from_file(file.as_ref(), special_tokens)?;
    for option in options {
        tokenizer = match option.as_str() {
            "added" => tokenizer,
            "control" => tokenizer.control_text(ControlText::Control),
            "whole" => tokenizer.cache_bytes(0).threads(NonZeroUsize::MIN),
            other => return Err(format!("unknown option `{other}`").into()),
        };
    }
    Ok(tokenizer)
}

/// The text of a prompt, and where in it the markers stand.
fn prompt(parts: &Value) -> Result<(String, Vec<Range<usize>>)> {
    let mut text = String::new();
    let mut markers = Vec::new();
    for part in parts.as_array().ok_or("a line is a list of parts")? {
        let start = text.len();
        if let Some(marker) = part["marker"].as_str() {
            text.push_str(marker);
            markers.push(start..text.len());
        } else {
            text.push_str(
                part["text"]
                    .as_str()
                    .ok_or("a part is a text or a marker")?,
            );
        }
    }
    Ok((text, markers))
}
