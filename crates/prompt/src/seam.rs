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
pub(crate) struct Seams<'a, T> {
    pub(crate) tokenizer: &'a T,
    pub(crate) rendered: &'a Rendered,
    pub(crate) tokens: &'a Tokens,
}

impl<T: Tokenize> Seams<'_, T> {
    /// The stable token count before byte `at`, where `next` says what is known to follow.
    ///
    /// For a probed seam this is the least that all continuations share, the real one included.
    /// A count that is too high costs a rung that nobody else lists, never a wrong match: the
    /// hash is always that of the tokens that are really there.
    pub(crate) fn stable(&self, at: usize, next: Option<&str>) -> Result<usize, TokenizeError> {
        let all = self.tokens.before(at);
        match self.tokenizer.seam(next) {
            Seam::Exact => Ok(all),
            Seam::Probe => self.probe(at, all),
        }
    }

    /// Encoding everything before the border once per continuation would cost more than signing.
    /// Only a window is encoded, from a place where its tokens fall in step with the whole
    /// text's; where they do not, the window grows.
    fn probe(&self, at: usize, all: usize) -> Result<usize, TokenizeError> {
        let fixed = self.firm_start(at);
        let mut length = WINDOW;
        loop {
            let start = self.window_start(at.saturating_sub(length).max(fixed), fixed);
            let first = if start == 0 {
                self.tokens.leading
            } else {
                self.tokens.before(start)
            };
            let in_step = self.common(start, at, first, "")?;
            // Half of the window in step: it has caught up, what is missing is at its end.
            if start <= fixed || 2 * in_step > all.saturating_sub(first) {
                let mut least = in_step;
                for continuation in CONTINUATIONS {
                    least = least.min(self.common(start, at, first, continuation)?);
                }
                return Ok(all.min(first + least));
            }
            length *= 2;
        }
    }

    /// How many tokens the text from `start` to `at` with `continuation` shares with the prompt's
    /// own, from its token `first` on.
    fn common(
        &self,
        start: usize,
        at: usize,
        first: usize,
        continuation: &str,
    ) -> Result<usize, TokenizeError> {
        let before = self.rendered.text.get(start..at).unwrap_or_default();
        let markers: Vec<_> = self
            .rendered
            .markers
            .iter()
            .filter(|marker| marker.start >= start && marker.end <= at)
            .map(|marker| marker.start - start..marker.end - start)
            .collect();
        let window = self
            .tokenizer
            .encode(&format!("{before}{continuation}"), &markers)?;
        let theirs = window.ids.iter().skip(window.leading);
        let ours = self.tokens.ids.iter().skip(first);
        Ok(theirs
            .zip(ours)
            .take_while(|(theirs, ours)| theirs == ours)
            .count())
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
