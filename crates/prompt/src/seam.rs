//! How many tokens before a border survive whatever is written after it.

use crate::{Seam, Tokenize, TokenizeError, Tokens, render::Rendered};

/// Beginnings of text that are known to pull on the last tokens before them: letters, digits,
/// blanks, line ends, punctuation, a contraction, a combining mark, other scripts, an emoji.
const CONTINUATIONS: [&str; 16] = [
    "a", "A", " a", "  a", "0", "\n", "\n\n", " ", ".", ",", "\"", "'s", "\u{301}", "é", "的", "🙂",
];

/// Bytes before a border that are encoded again for each continuation, to begin with.
const WINDOW: usize = 256;

/// Counts tokens before borders of one rendered and encoded prompt.
pub(crate) struct Seams<'a, T: ?Sized> {
    pub(crate) tokenizer: &'a T,
    pub(crate) rendered: &'a Rendered,
    pub(crate) tokens: &'a Tokens,
}

impl<T: Tokenize + ?Sized> Seams<'_, T> {
    /// The tokens before byte `at`, where `next` says what is known to follow.
    ///
    /// For a probed seam the stable count is the least that all continuations share, the real one included.
    /// A count that is too high costs a rung that nobody else lists, never a wrong match: the
    /// hash is always that of the tokens that are really there.
    pub(crate) fn count(&self, at: usize, next: Option<&str>) -> Result<Count, TokenizeError> {
        let all = self.tokens.before(at);
        match self.tokenizer.seam(next) {
            Seam::Exact => Ok(Count {
                alone: all,
                stable: all,
            }),
            Seam::Probe => self.probe(at, all),
        }
    }

    /// Encoding everything before the border once per continuation would cost more than signing.
    /// Only a window is encoded, and only its second half compared: by then its tokens have
    /// fallen in step with the whole text's. Where they have not, the window grows.
    fn probe(&self, at: usize, all: usize) -> Result<Count, TokenizeError> {
        let fixed = self.firm_start(at);
        let mut length = WINDOW;
        loop {
            let start = self.window_start(at.saturating_sub(length).max(fixed), fixed);
            let middle = if start <= fixed {
                start
            } else {
                start + (at - start) / 2
            };
            let window = Window { start, middle, at };
            let first = self.tokens.before(middle);
            let (in_step, alone) = self.shared(window, "")?;
            if start <= fixed || 2 * in_step > all.saturating_sub(first) {
                let mut least = in_step;
                for continuation in CONTINUATIONS {
                    least = least.min(self.shared(window, continuation)?.0);
                }
                return Ok(Count {
                    alone: first + alone,
                    stable: all.min(first + least),
                });
            }
            length *= 2;
        }
    }

    /// How many tokens behind the middle the window with `continuation` shares with the prompt,
    /// and how many it has there.
    fn shared(&self, window: Window, continuation: &str) -> Result<(usize, usize), TokenizeError> {
        let Window { start, middle, at } = window;
        let before = self.rendered.text.get(start..at).unwrap_or_default();
        let markers: Vec<_> = self
            .rendered
            .markers
            .iter()
            .filter(|marker| marker.start >= start && marker.end <= at)
            .map(|marker| marker.start - start..marker.end - start)
            .collect();
        let theirs = self
            .tokenizer
            .encode(&format!("{before}{continuation}"), &markers)?;
        let ours = behind(self.tokens, middle, 0);
        // Not all of them: an end token stands behind the text.
        let count = theirs.before(at - start) - theirs.before(middle - start);
        let theirs = behind(&theirs, middle - start, start);
        let same = ours
            .zip(theirs)
            .take_while(|(ours, theirs)| ours == theirs)
            .count();
        Ok((same, count))
    }

    /// Where the last `bytes` bytes of the text begin: a token, and behind the last marker.
    pub(crate) fn tail(&self, bytes: usize) -> usize {
        let end = self.rendered.text.len();
        let fixed = self.firm_start(end);
        self.window_start(end.saturating_sub(bytes).max(fixed), fixed)
    }

    /// The last byte up to `at` that nothing merges across: behind a control token, or 0.
    fn firm_start(&self, at: usize) -> usize {
        let firm = self.rendered.markers.iter().rev().find(|marker| {
            let text = self.rendered.text.get((*marker).clone());
            marker.end <= at && self.tokenizer.seam(text) == Seam::Exact
        });
        firm.map_or(0, |marker| marker.end)
    }

    /// The last place up to `wanted` where a token ends and a character begins.
    fn window_start(&self, wanted: usize, fixed: usize) -> usize {
        let ends = self
            .tokens
            .ends
            .get(..self.tokens.before(wanted))
            .unwrap_or_default();
        let place = ends
            .iter()
            .rev()
            .find(|end| self.rendered.text.is_char_boundary(**end));
        place.copied().unwrap_or(0).max(fixed)
    }
}

/// Tokens before a border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    /// Those that the text up to the border has when nothing follows.
    pub(crate) alone: usize,
    /// Those that stay whatever follows.
    pub(crate) stable: usize,
}

/// A stretch of text before a border, in bytes.
#[derive(Clone, Copy)]
struct Window {
    start: usize,
    /// From here on tokens count.
    middle: usize,
    /// The border.
    at: usize,
}

/// The tokens that end behind `byte`: id, and end in the whole text, which begins `offset`
/// bytes before these tokens' own.
fn behind(tokens: &Tokens, byte: usize, offset: usize) -> impl Iterator<Item = (u32, usize)> {
    let all = tokens
        .ids
        .iter()
        .zip(&tokens.ends)
        .map(move |(id, end)| (*id, end + offset));
    all.skip(tokens.before(byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        HfTokenizer, Prompt, PromptDraft, Segment, SpecialTokens, Volatility, render, tiny,
    };

    fn tokenizer(special_tokens: SpecialTokens) -> HfTokenizer {
        HfTokenizer::from_json(tiny::tokenizer_json().as_bytes(), "tiny", special_tokens).unwrap()
    }

    /// The definition: encode everything before the border, once per continuation.
    fn by_hand(tokenizer: &HfTokenizer, rendered: &Rendered, tokens: &Tokens, at: usize) -> usize {
        let markers: Vec<_> = rendered
            .markers
            .iter()
            .filter(|m| m.end <= at)
            .cloned()
            .collect();
        let shared = |continuation: &str| {
            let text = format!("{}{continuation}", &rendered.text[..at]);
            let theirs = tokenizer.encode(&text, &markers).unwrap();
            theirs
                .ids
                .iter()
                .zip(&tokens.ids)
                .take_while(|(a, b)| a == b)
                .count()
        };
        let least = CONTINUATIONS
            .into_iter()
            .chain([""])
            .map(shared)
            .min()
            .unwrap_or(0);
        least.min(tokens.before(at))
    }

    fn prompt(texts: &[String], form: Option<crate::Role>) -> Prompt {
        let mut draft = PromptDraft::new();
        for text in texts {
            let segment = Segment {
                role: form,
                ..Segment::new(text.as_str())
            };
            draft.push(Volatility::Dynamic, segment).unwrap();
        }
        draft.build().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn a_window_finds_what_the_whole_text_does(
            texts in prop::collection::vec("[a-c the.:\n 🙂é12]{1,400}", 1..4),
            pick in 0.0..1.0_f64,
            chat: bool,
            added: bool,
        ) {
            let special = if added { SpecialTokens::Added } else { SpecialTokens::Omitted };
            let tokenizer = tokenizer(special);
            let rendered = render::render(&prompt(&texts, chat.then_some(crate::Role::User)).segments);
            let tokens = tokenizer.encode(&rendered.text, &rendered.markers).unwrap();
            let seams = Seams { tokenizer: &tokenizer, rendered: &rendered, tokens: &tokens };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a short text")]
            let at = (pick * rendered.text.len() as f64) as usize;
            // Inside a marker there is no border.
            prop_assume!(rendered.markers.iter().all(|m| at <= m.start || at >= m.end));
            let at = rendered.text.floor_char_boundary(at);
            let expected = by_hand(&tokenizer, &rendered, &tokens, at);
            prop_assert_eq!(seams.count(at, None).unwrap().stable, expected);
        }
    }
}
