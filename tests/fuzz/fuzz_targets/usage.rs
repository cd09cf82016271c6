//! Any bytes as the end of an engine's answer: no panic, pieces say what the whole says, and no
//! generated text is taken for the engine's own words.
#![no_main]

use headwater_router::usage::{TAIL_BYTES, UsageTail, cached_tokens};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|bytes: &[u8]| {
    let last = bytes.len().saturating_sub(TAIL_BYTES);
    let whole = cached_tokens(&bytes[last..]);
    let size = bytes.first().map_or(1, |first| usize::from(*first) + 1);
    assert_eq!(read(bytes, size), whole);

    // The same bytes as what a model said, before and behind what the engine says.
    let text = String::from_utf8_lossy(bytes);
    let details = json!({"cached_tokens": 48});
    for told in [Some(details), None] {
        let usage = json!({"prompt_tokens": 60, "prompt_tokens_details": told});
        let before = json!({"text": text}).to_string();
        let answer = format!("{},\"usage\":{usage}}}", before.trim_end_matches('}'));
        let expected = told.map(|_| 48);
        assert_eq!(read(answer.as_bytes(), size), expected);
        let short: String = text.chars().take(500).collect();
        let behind = format!("{{\"usage\":{usage},{}", &json!({"text": short}).to_string()[1..]);
        assert_eq!(read(behind.as_bytes(), size), expected);
    }
});

fn read(bytes: &[u8], size: usize) -> Option<u32> {
    let mut tail = UsageTail::default();
    bytes.chunks(size).for_each(|part| tail.push(part));
    tail.cached_tokens()
}
