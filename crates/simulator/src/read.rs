//! Traces from files: which format it is, how large it may be, and where it is wrong.

use std::fmt;
use std::io::{BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use serde::de::DeserializeOwned;

use crate::trace::Trace;

mod audit;
mod azure;
mod growth;
mod jsonl;
mod zstd;

pub(crate) use growth::Row;

/// The most that is read, as it stands after decompression.
pub const MAX_BYTES: u64 = 4 << 30;
/// The longest line.
pub const MAX_LINE_BYTES: usize = 8 << 20;
/// The most requests.
pub const MAX_REQUESTS: usize = 4_000_000;
/// The most blocks of a prompt.
pub const MAX_PROMPT_BLOCKS: usize = 1 << 17;
/// The most blocks of all prompts.
pub const MAX_BLOCKS: usize = 400_000_000;
/// The longest prompt or answer, in tokens.
pub const MAX_TOKENS: u32 = 1 << 24;

/// A trace cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceError {
    /// The line, from 1; none if it is about the whole file.
    pub line: Option<usize>,
    /// What is wrong and what would be right.
    pub message: String,
}

impl TraceError {
    fn whole(message: impl Into<String>) -> Self {
        Self {
            line: None,
            message: message.into(),
        }
    }

    fn at(line: usize, message: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            message: message.into(),
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for TraceError {}

/// Reads a trace in any known format, compressed with zstd, with gzip, or not at all.
///
/// Known are: Mooncake's JSONL (`timestamp`, `input_length`, `output_length`, `hash_ids`, and
/// optionally `session_id`, `boundaries`, `block_size`); Headwater's own audit lines (`at_ms`,
/// `signature`, `affinity`, `output_tokens`); and the CSV of Azure's inference traces
/// (`TIMESTAMP,ContextTokens,GeneratedTokens`). `block_tokens` overrides what the blocks' number
/// says about their size.
///
/// # Errors
/// It cannot be read or decompressed, is of no known format, is too large, or a line is wrong.
pub fn read_trace(source: impl Read, block_tokens: Option<u32>) -> Result<Trace, TraceError> {
    if block_tokens == Some(0) {
        return Err(TraceError::whole(
            "a block of 0 tokens: set it to 1 or more",
        ));
    }
    let mut source = BufReader::with_capacity(1 << 16, source);
    let head = source
        .fill_buf()
        .map_err(|error| TraceError::whole(error.to_string()))?;
    if zstd::begins(head) {
        let text = zstd::Frames::of(source).take(MAX_BYTES);
        from_text(BufReader::with_capacity(1 << 16, text), block_tokens)
    } else if head.starts_with(&GZIP) {
        let text = MultiGzDecoder::new(source).take(MAX_BYTES);
        from_text(BufReader::with_capacity(1 << 16, text), block_tokens)
    } else {
        from_text(source.take(MAX_BYTES), block_tokens)
    }
}

/// What a file of gzip begins with (RFC 1952 §2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

fn from_text(source: impl BufRead, block_tokens: Option<u32>) -> Result<Trace, TraceError> {
    let mut lines = Lines {
        source,
        number: 0,
        line: String::new(),
    };
    let Some((_, first)) = lines.next_line()? else {
        return Err(TraceError::whole("the trace is empty"));
    };
    let trace = match Format::of(first) {
        Some(Format::Blocks) => jsonl::read(&mut lines, block_tokens)?,
        Some(Format::Audit) => audit::read(&mut lines)?,
        Some(Format::Azure) => azure::read(&mut lines)?,
        None => {
            return Err(TraceError::at(
                lines.number,
                "no known format: expected JSON with `hash_ids` or `signature`, or a CSV that begins with `TIMESTAMP,`",
            ));
        }
    };
    if trace.is_empty() {
        return Err(TraceError::whole("the trace has no request"));
    }
    Ok(trace)
}

enum Format {
    Blocks,
    Audit,
    Azure,
}

impl Format {
    fn of(line: &str) -> Option<Self> {
        if line.starts_with("TIMESTAMP,") {
            return Some(Self::Azure);
        }
        let value: serde_json::Value = serde_json::from_str(line).ok()?;
        if value.get("hash_ids").is_some() {
            Some(Self::Blocks)
        } else if value.get("signature").is_some() {
            Some(Self::Audit)
        } else {
            None
        }
    }
}

/// The lines of a trace with their numbers; empty ones are passed over.
struct Lines<R> {
    source: R,
    number: usize,
    line: String,
}

impl<R: BufRead> Lines<R> {
    fn next_line(&mut self) -> Result<Option<(usize, &str)>, TraceError> {
        loop {
            let number = self.number + 1;
            self.line.clear();
            let mut bounded = (&mut self.source).take(MAX_LINE_BYTES as u64 + 1);
            let read = bounded.read_line(&mut self.line);
            let read = read.map_err(|error| TraceError::at(number, error.to_string()))?;
            if read == 0 {
                return Ok(None);
            }
            self.number = number;
            if number == 1 && self.line.starts_with('\u{feff}') {
                self.line.drain(..'\u{feff}'.len_utf8());
            }
            if read > MAX_LINE_BYTES {
                return Err(TraceError::at(
                    number,
                    format!("longer than {MAX_LINE_BYTES} bytes"),
                ));
            }
            if !self.line.trim().is_empty() {
                break;
            }
        }
        Ok(Some((self.number, self.line.trim())))
    }

    /// The line that was read last.
    fn current(&self) -> (usize, &str) {
        (self.number, self.line.trim())
    }
}

/// One line of JSON, or where in it the first thing wrong is.
fn json<T: DeserializeOwned>(line: usize, text: &str) -> Result<T, TraceError> {
    serde_json::from_str(text).map_err(|error| {
        let whole = error.to_string();
        // It knows no line but this one.
        let place = format!(" at line {} column {}", error.line(), error.column());
        let what = whole.strip_suffix(&place).unwrap_or(&whole);
        TraceError::at(line, format!("column {}: {what}", error.column()))
    })
}

/// A length in tokens that a prompt or an answer can have.
fn tokens(line: usize, what: &str, found: u64) -> Result<u32, TraceError> {
    u32::try_from(found)
        .ok()
        .filter(|tokens| *tokens <= MAX_TOKENS)
        .ok_or_else(|| {
            TraceError::at(
                line,
                format!("`{what}` is {found}: at most {MAX_TOKENS} tokens are possible"),
            )
        })
}

#[cfg(test)]
mod tests;
