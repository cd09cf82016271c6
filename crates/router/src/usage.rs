//! What the end of an answer says of the engine's cache: `cached_tokens` in its `usage`.
//!
//! Only the last few KiB are kept and looked through, once, when the answer is over; nothing is
//! parsed on the way, and nothing is changed.

use memchr::memmem;

/// Bytes of an answer's end that are looked through. Engines write `usage` last; what follows it
/// in their answers is a few short fields.
pub const TAIL_BYTES: usize = 4 << 10;

/// Bytes by which the kept end may grow before its beginning is dropped, so that small events do
/// not move it each time.
const SLACK_BYTES: usize = 1 << 10;

/// The end of an answer, as far as it has come.
#[derive(Debug, Default)]
pub struct UsageTail {
    kept: Vec<u8>,
}

impl UsageTail {
    /// Takes what came next of the answer's body.
    pub fn push(&mut self, bytes: &[u8]) {
        let last = bytes.len().saturating_sub(TAIL_BYTES);
        let bytes = bytes.get(last..).unwrap_or_default();
        if self.kept.len() + bytes.len() > TAIL_BYTES + SLACK_BYTES {
            let stale = (self.kept.len() + bytes.len()).saturating_sub(TAIL_BYTES);
            self.kept.drain(..stale.min(self.kept.len()));
        }
        self.kept.extend_from_slice(bytes);
    }

    /// The tokens that the engine found in its cache, if the answer's end says so.
    #[must_use]
    pub fn cached_tokens(&self) -> Option<u32> {
        let last = self.kept.len().saturating_sub(TAIL_BYTES);
        cached_tokens(self.kept.get(last..)?)
    }
}

/// Looks for the last `usage` object in the end of a JSON text or of server-sent events, and for
/// the cached tokens in it: `cached_tokens` as OpenAI's dialects have it, in details of the
/// prompt, or Anthropic's `cache_read_input_tokens`.
///
/// The text may begin anywhere. A key is told from the same words in generated text by its quote:
/// within a JSON string that would be escaped.
#[must_use]
pub fn cached_tokens(tail: &[u8]) -> Option<u32> {
    const KEY: &[u8] = b"\"usage\"";
    let mut end = tail.len();
    loop {
        let at = memmem::rfind(tail.get(..end)?, KEY)?;
        let (before, from) = tail.split_at_checked(at)?;
        let after = from.get(KEY.len()..)?.trim_ascii_start();
        if !ends_escaped(before)
            && let Some(value) = after.strip_prefix(b":")
            // Chunks before the last one say `null`.
            && let Some(object) = value.trim_ascii_start().strip_prefix(b"{")
        {
            return in_object(object);
        }
        end = at;
    }
}

/// Whether what follows is escaped: an odd number of backslashes stands before it.
fn ends_escaped(before: &[u8]) -> bool {
    let others = before.iter().rposition(|byte| *byte != b'\\');
    let backslashes = before.len() - others.map_or(0, |at| at + 1);
    backslashes % 2 == 1
}

/// Looks through the inside of an object up to its end, for a name that matters.
fn in_object(mut rest: &[u8]) -> Option<u32> {
    let mut depth = 1_u32;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'"' => {
                let text;
                (text, rest) = string(after)?;
                let is_name = matches!(text, b"cached_tokens" | b"cache_read_input_tokens");
                if is_name
                    && let Some(value) = rest.trim_ascii_start().strip_prefix(b":")
                    && let Some(tokens) = number(value.trim_ascii_start())
                {
                    return Some(tokens);
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return None;
                }
            }
            _ => {}
        }
    }
    None
}

/// A string without its quotes, and what follows it.
fn string(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut from = 0;
    loop {
        let at = from + memchr::memchr(b'"', rest.get(from..)?)?;
        let (text, after) = rest.split_at_checked(at)?;
        if !ends_escaped(text) {
            return Some((text, after.get(1..)?));
        }
        from = at + 1;
    }
}

/// A whole number that ends where a value may end.
fn number(text: &[u8]) -> Option<u32> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, after) = text.split_at_checked(digits)?;
    let ends = matches!(
        after.first(),
        Some(b',' | b'}' | b' ' | b'\t' | b'\r' | b'\n')
    );
    ends.then(|| str::from_utf8(number).ok()?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OPENAI: &str = r#"{"id":"c-1","choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":2461,"total_tokens":2500,"prompt_tokens_details":{"cached_tokens":2416,"created_cache_tokens":null}},"prompt_logprobs":null}"#;
    const EVENTS: &str = "data: {\"choices\":[{\"delta\":{}}],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"prompt_tokens_details\":{\"cached_tokens\": 7}}}\n\ndata: [DONE]\n\n";

    fn check(text: &str, expected: Option<u32>) {
        assert_eq!(cached_tokens(text.as_bytes()), expected, "{text}");
        for size in 1..40 {
            let mut tail = UsageTail::default();
            text.as_bytes()
                .chunks(size)
                .for_each(|part| tail.push(part));
            assert_eq!(tail.cached_tokens(), expected, "{text} in pieces of {size}");
        }
    }

    #[test]
    fn every_dialect_says_it_in_its_usage() {
        check(OPENAI, Some(2_416));
        check(EVENTS, Some(7));
        check(
            r#"{"content":[],"usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":48}}"#,
            Some(48),
        );
        check(
            r#"{"output":[],"usage" : { "input_tokens_details" : { "cached_tokens" : 16 } } }"#,
            Some(16),
        );
        check(
            r#"{"usage":{"prompt_tokens":3,"prompt_tokens_details":null}}"#,
            None,
        );
        check(r#"{"usage":{"prompt_tokens":3}, "cached_tokens": 5}"#, None);
        check("", None);
    }

    #[test]
    fn what_was_generated_is_not_taken_for_what_the_engine_says() {
        // The words within a string.
        let quoted = r#"{"choices":[{"text":"say \"usage\":{\"cached_tokens\":99}, please"}]}"#;
        check(quoted, None);
        let behind =
            r#"{"usage":{"a":{"cached_tokens":5}},"text":"\"usage\":{\"cached_tokens\":99}"}"#;
        check(behind, Some(5));
        // A string that ends with a backslash.
        check(r#"{"text":"\\","usage":{"cached_tokens":4}}"#, Some(4));
        // Arguments of a tool that are an object: the engine's own words come last.
        check(
            r#"{"input":{"usage":{"cached_tokens":99}},"usage":{"prompt_tokens_details":null}}"#,
            None,
        );
        check(r#"{"usage":{"note":"\"cached_tokens\":99"}}"#, None);
    }

    #[test]
    fn only_whole_numbers_count() {
        for bad in ["-1", "1.5", "1e3", "99999999999", "\"7\"", "null", "", "7"] {
            let text = format!(r#"{{"usage":{{"cached_tokens":{bad}"#);
            check(&text, None);
        }
        check(r#"{"usage":{"cached_tokens":4294967295}"#, Some(u32::MAX));
    }

    #[test]
    fn only_the_end_is_kept() {
        let mut tail = UsageTail::default();
        for _ in 0..100 {
            tail.push(OPENAI.as_bytes());
            assert!(tail.kept.len() <= TAIL_BYTES + SLACK_BYTES);
        }
        tail.push(&vec![b' '; 1 << 20]);
        assert!(tail.kept.len() <= TAIL_BYTES + SLACK_BYTES);
        assert_eq!(tail.cached_tokens(), None);
        tail.push(OPENAI.as_bytes());
        assert_eq!(tail.cached_tokens(), Some(2_416));
    }

    proptest! {
        #[test]
        fn pieces_say_what_the_whole_says(
            words in prop::collection::vec(prop::sample::select(vec![
                "\"usage\"", ":", "{", "}", "\"cached_tokens\"", "12", ",", "\\", "\"", " ", "null",
                "[", "]", "data: ", "\n", "\u{fc}",
            ]), 0..40),
            size in 1_usize..30,
        ) {
            let text = words.concat();
            let mut tail = UsageTail::default();
            text.as_bytes().chunks(size).for_each(|part| tail.push(part));
            prop_assert_eq!(tail.cached_tokens(), cached_tokens(text.as_bytes()));
        }

        #[test]
        fn a_real_answer_is_read_behind_anything(noise in prop::collection::vec(any::<u8>(), 0..6_000)) {
            let mut tail = UsageTail::default();
            tail.push(&noise);
            tail.push(EVENTS.as_bytes());
            prop_assert_eq!(tail.cached_tokens(), Some(7));
        }
    }
}
