//! How many tokens before a border survive whatever is written after it.

use std::ops::Range;

use crate::{Seam, Tokenize, TokenizeError, Tokens};

/// Beginnings of text that are known to pull on the last tokens before them: letters, digits,
/// blanks, line ends, punctuation, a contraction, a combining mark, other scripts, an emoji.
const CONTINUATIONS: [&str; 16] = [
    "a", "A", " a", "  a", "0", "\n", "\n\n", " ", ".", ",", "\"", "'s", "\u{301}", "é", "的", "🙂",
];

/// Bytes before a border that are encoded again for each continuation, to begin with.
const WINDOW: usize = 256;

/// What is at stake where a text ends and something else will be written after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeamRisk {
    /// Tokens that end at or before the border.
    pub tokens: usize,
    /// How many of them stay, whatever follows.
    pub stable: usize,
    /// What the text ends with: the usual reason.
    pub ending: TextEnd,
}

impl SeamRisk {
    /// Tokens that what follows may take away. One is enough to cost a whole block.
    pub fn at_risk(&self) -> usize {
        self.tokens.saturating_sub(self.stable)
    }
}

/// What a text ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextEnd {
    /// A line end, which only more blanks can take. The best end for text that others continue.
    Line,
    /// A blank that is no line end. Most vocabularies give it to the word that follows.
    Blank,
    /// A letter, a digit or a mark on one: the word may go on.
    Word,
    /// Anything else, or no text at all.
    Other,
}

impl TextEnd {
    /// `line`, `blank`, `word` or `other`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Blank => "blank",
            Self::Word => "word",
            Self::Other => "other",
        }
    }

    fn of(text: &str) -> Self {
        match text.chars().next_back() {
            Some('\n' | '\r') => Self::Line,
            Some(c) if c.is_whitespace() => Self::Blank,
            Some(c) if c.is_alphanumeric() => Self::Word,
            _ => Self::Other,
        }
    }
}

/// Says how many tokens at the end of `text` depend on what will be written after it.
///
/// For static text in front of a variable. The answer is the worst of a fixed set of
/// continuations, so a text can be judged before anyone has filled in the variable.
///
/// ```
/// use headwater::{BytesTokenizer, TextEnd, seam_risk};
///
/// let risk = seam_risk(&BytesTokenizer, "Customer: ")?;
/// assert_eq!((risk.at_risk(), risk.ending), (0, TextEnd::Blank)); // units of bytes never merge
/// # Ok::<(), headwater::TokenizeError>(())
/// ```
///
/// # Errors
/// What the tokenizer cannot encode.
pub fn risk(tokenizer: &impl Tokenize, text: &str) -> Result<SeamRisk, TokenizeError> {
    let tokens = tokenizer.encode(text, &[])?;
    let seams = Seams {
        tokenizer,
        text,
        markers: &[],
        tokens: &tokens,
    };
    Ok(SeamRisk {
        tokens: tokens.before(text.len()),
        stable: seams.count(text.len(), None)?.stable,
        ending: TextEnd::of(text),
    })
}

/// Counts tokens before borders of one encoded text.
pub(crate) struct Seams<'a, T: ?Sized> {
    pub(crate) tokenizer: &'a T,
    pub(crate) text: &'a str,
    pub(crate) markers: &'a [Range<usize>],
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
        let firm = self.firm_start(at);
        let fixed = firm.end;
        let mut length = WINDOW;
        loop {
            let mut start = self.window_start(at.saturating_sub(length).max(fixed), fixed);
            let whole = start <= fixed;
            let middle = if whole {
                // With the control token itself: some vocabularies treat the start of a text
                // differently from the text behind one.
                start = firm.start;
                fixed
            } else {
                start + (at - start) / 2
            };
            let window = Window { start, middle, at };
            let first = self.tokens.before(middle);
            let (in_step, alone) = self.shared(window, "")?;
            if whole || 2 * in_step > all.saturating_sub(first) {
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
        let before = self.text.get(start..at).unwrap_or_default();
        let markers: Vec<_> = self
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
        let end = self.text.len();
        let fixed = self.firm_start(end).end;
        self.window_start(end.saturating_sub(bytes).max(fixed), fixed)
    }

    /// The last control token up to `at` that nothing merges across, or the start of the text.
    fn firm_start(&self, at: usize) -> Range<usize> {
        let firm = self.markers.iter().rev().find(|marker| {
            let text = self.text.get((*marker).clone());
            marker.end <= at && self.tokenizer.seam(text) == Seam::Exact
        });
        firm.cloned().unwrap_or_default()
    }

    /// The last place up to `wanted` where a token ends and a character begins.
    fn window_start(&self, wanted: usize, fixed: usize) -> usize {
        let before = (0..self.tokens.before(wanted)).rev();
        let mut ends = before.filter_map(|index| self.tokens.ends.get(index));
        let place = ends.find(|end| self.text.is_char_boundary(*end));
        place.unwrap_or(0).max(fixed)
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
    let places = tokens.before(byte)..tokens.ids.len();
    places
        .filter_map(move |index| Some((*tokens.ids.get(index)?, tokens.ends.get(index)? + offset)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        HfTokenizer, Prompt, PromptDraft, Segment, SpecialTokens, Volatility, kinds,
        render::{self, Rendered},
        tiny,
    };

    /// Byte-level pairs, or words with a mark before the first one of a text.
    fn tokenizer(special_tokens: SpecialTokens, words: bool) -> HfTokenizer {
        let json = if words {
            let mut all = kinds::all().into_iter();
            all.find(|kind| kind.name == "unigram-first").unwrap().json
        } else {
            tiny::tokenizer_json()
        };
        HfTokenizer::from_json(json.as_bytes(), "tiny", special_tokens).unwrap()
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
            // A token is its id and its text: one that stands for unknown characters can take more.
            let theirs = theirs.ids.iter().zip(theirs.ends.iter());
            let ours = tokens.ids.iter().zip(tokens.ends.iter());
            theirs.zip(ours).take_while(|(a, b)| a == b).count()
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
            words: bool,
        ) {
            let special = if added { SpecialTokens::Added } else { SpecialTokens::Omitted };
            let tokenizer = tokenizer(special, words);
            let rendered = render::render(&prompt(&texts, chat.then_some(crate::Role::User)).segments);
            let tokens = tokenizer.encode(&rendered.text, &rendered.markers).unwrap();
            let seams = Seams { tokenizer: &tokenizer, text: &rendered.text, markers: &rendered.markers, tokens: &tokens };
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
