//! Newlines that move the end of a stable part onto a block border.

use headwater_signature::BlockSize;

use crate::{
    SegmentLabel, SignOptions, Tokenize, TokenizeError, Volatility, prompt::CleanSegment,
    render::Rendered, seam::Seams,
};

/// Whether the static and the semi-static part are lengthened to whole blocks.
///
/// An engine reuses whole blocks only, so on average `(block - 1) / 2` tokens before a border are
/// computed again by every request: 7.5 tokens at 16 a block, 31.5 at 64. That is the most that
/// alignment can gain, and it changes what the model reads. It pays for large blocks and very
/// many short requests, and hardly ever else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Align {
    /// The text stays as it is.
    #[default]
    Off,
    /// Newlines are added at the end of a part, as few as put the tokens that are sure to stay
    /// onto a block border, and at most four blocks' worth of characters. Vocabularies merge
    /// runs of newlines, so there may be no such number; then nothing is added and the
    /// report says so. Trying tokenizes the part several times: use it with
    /// [`Prepared`](crate::Prepared), which tries once.
    Newlines,
}

/// What alignment did at the end of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Padding {
    /// The last segment of the part.
    pub segment: SegmentLabel,
    /// Stable tokens before the border as the text was.
    pub stable_tokens: u32,
    /// Newlines added; `None` if no number of them reaches a block border.
    pub newlines: Option<usize>,
    /// Stable tokens before the border now: whole blocks, unless nothing was added.
    pub aligned_tokens: u32,
}

/// Blocks' worth of characters that are tried: four characters a token is the most that any
/// tokenizer here needs for one.
const MOST_BLOCKS: usize = 4;

/// Writes the segments, with padding where it is asked for. The last message stays open.
pub(crate) fn lay_out<T: Tokenize + ?Sized>(
    rendered: &mut Rendered,
    segments: &[CleanSegment],
    tokenizer: &T,
    options: &SignOptions,
) -> Result<Vec<Padding>, TokenizeError> {
    let mut paddings = Vec::new();
    rendered.reserve(segments);
    for (index, segment) in segments.iter().enumerate() {
        rendered.add(segment);
        let volatility = segment.label.volatility;
        let next = segments.get(index + 1);
        let ends = next.is_none_or(|next| next.label.volatility != volatility);
        if options.align == Align::Newlines && ends && volatility != Volatility::Dynamic {
            let end = PartEnd {
                tokenizer,
                block: options.block,
                rendered,
            };
            paddings.push(end.pad(&segment.label)?);
        }
    }
    Ok(paddings)
}

/// Bytes before the border that are encoded again for each try.
const WINDOW: usize = 256;

/// What is likely to move a border, to sort out tries before the whole part is encoded.
const FOLLOWERS: [&str; 4] = ["", "a", " a", "\n"];

/// Tries that are checked by encoding the whole part again.
const CHECKS: usize = 4;

/// The end of a part, with nothing written behind it yet.
struct PartEnd<'a, T: ?Sized> {
    tokenizer: &'a T,
    block: BlockSize,
    rendered: &'a mut Rendered,
}

impl<T: Tokenize + ?Sized> PartEnd<'_, T> {
    fn pad(self, label: &SegmentLabel) -> Result<Padding, TokenizeError> {
        let (before, tail) = self.stable("")?;
        let mut padding = Padding {
            segment: label.clone(),
            stable_tokens: before,
            newlines: None,
            aligned_tokens: before,
        };
        if before.is_multiple_of(self.block.get()) {
            padding.newlines = Some(0);
            return Ok(padding);
        }
        for newlines in self.promising(before, tail)? {
            let text = "\n".repeat(newlines);
            let (stable, _) = self.stable(&text)?;
            if stable > before && stable.is_multiple_of(self.block.get()) {
                padding.newlines = Some(newlines);
                padding.aligned_tokens = stable;
                self.rendered.pad(&text);
                break;
            }
        }
        Ok(padding)
    }

    /// The numbers of newlines that reach a block border as far as `tail` can tell, the last
    /// bytes of the part.
    fn promising(&self, before: u32, tail: usize) -> Result<Vec<usize>, TokenizeError> {
        let block = self.block.get();
        let tail = self.rendered.text.get(tail..).unwrap_or_default();
        let unpadded = self.shared(tail, "")?;
        let most = MOST_BLOCKS * usize::try_from(block).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        for newlines in 1..=most {
            let shared = self.shared(tail, &"\n".repeat(newlines))?;
            let stable = (before + shared).saturating_sub(unpadded);
            if shared > unpadded && stable.is_multiple_of(block) {
                found.push(newlines);
            }
            // A vocabulary that swallows runs of newlines whole will not get there.
            let swallowed = newlines >= 64 && shared <= unpadded + 1;
            if found.len() == CHECKS || swallowed {
                break;
            }
        }
        Ok(found)
    }

    /// Tokens of `tail` and `padding` that stay with all of the followers.
    fn shared(&self, tail: &str, padding: &str) -> Result<u32, TokenizeError> {
        let mut least: Option<Vec<u32>> = None;
        for follower in FOLLOWERS {
            let text = format!("{tail}{padding}{follower}");
            let ids = self.tokenizer.encode(&text, &[])?.ids;
            least = Some(match least {
                None => ids,
                Some(least) => {
                    let same = least.iter().zip(&ids).take_while(|(a, b)| a == b).count();
                    least.into_iter().take(same).collect()
                }
            });
        }
        Ok(u32::try_from(least.unwrap_or_default().len()).unwrap_or(u32::MAX))
    }

    /// Stable tokens before the end of the padded part, and the byte where its tail begins.
    fn stable(&self, padding: &str) -> Result<(u32, usize), TokenizeError> {
        let mut padded = self.rendered.clone();
        padded.pad(padding);
        let tokens = self.tokenizer.encode(&padded.text, &padded.markers)?;
        let seams = Seams {
            tokenizer: self.tokenizer,
            text: &padded.text,
            markers: &padded.markers,
            tokens: &tokens,
        };
        let stable = seams.count(padded.text.len(), None)?.stable;
        let tail = seams.tail(WINDOW);
        Ok((u32::try_from(stable).unwrap_or(u32::MAX), tail))
    }
}
