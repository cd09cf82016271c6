//! What signing takes in memory besides the prompt and its tokens (Linux only):
//!
//! ```text
//! cargo run --release -p headwater --example peak_memory
//! ```
//!
//! For each kind of text it prints the peak of resident memory, in times of the prompt's bytes:
//! while the chat is cleaned, and while the cleaned prompt is signed. The tokens (4 bytes each for
//! the tokenizer without a vocabulary) are taken off.

use std::error::Error;

use headwater::{BytesTokenizer, Chat, SignOptions, Turn};

/// Large enough for pages, allocator and stack not to count.
const BYTES: usize = 64 << 20;

const PLAIN: &str = "The ferry to the north quay leaves at a quarter past the hour.\n";
const LETTERS: &str = "Fähre nach Norden: 渡船每小时一班, отход в 12:15. 🙂 Café du Port.\n";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mixed = [PLAIN, PLAIN, PLAIN, LETTERS].concat();
    let crlf = PLAIN.replace('\n', "\r\n");
    let spaces = PLAIN.replace('\n', " \n");
    println!("kind    cleaning  signing");
    let kinds = [
        ("ascii", PLAIN),
        ("mixed", &mixed),
        ("crlf", &crlf),
        ("spaces", &spaces),
    ];
    for (kind, lines) in kinds {
        let text = lines.repeat(BYTES / lines.len());
        let bytes = text.len();
        let chat = Chat::new().system(text).turn(Turn::user("When?"));
        let start = restart()?;
        let prompt = chat.prompt()?;
        let cleaning = peak()? - start;
        drop(chat);
        let start = restart()?;
        let signed = prompt.sign(&BytesTokenizer, &SignOptions::default())?;
        let tokens = 4 * signed.token_ids().len();
        let signing = (peak()? - start).saturating_sub(tokens);
        let times = |used: usize| used as f64 / bytes as f64;
        println!("{kind:8}{:7.2}{:9.2}", times(cleaning), times(signing));
    }
    Ok(())
}

/// Makes the peak what is resident now, and tells how much that is.
fn restart() -> Result<usize> {
    std::fs::write("/proc/self/clear_refs", "5")?;
    peak()
}

/// The peak since the last restart, in bytes.
fn peak() -> Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: usize = kilobytes.ok_or("no VmHWM in /proc/self/status")?.parse()?;
    Ok(kilobytes * 1024)
}
