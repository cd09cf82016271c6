//! Where the parts of one signed prompt end, counted in tokens that stay.

use headwater_signature::BlockSize;

use crate::{
    Seam, Tokenize, TokenizeError,
    render::{MESSAGE_START, Rendered, Renderer},
    seam::Seams,
};

/// A border in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BorderCount {
    /// The byte of the text at which it stands.
    pub(crate) at: usize,
    /// Tokens that the text up to it has when nothing follows.
    pub(crate) tokens: u32,
    /// The part of them that stays whatever follows.
    pub(crate) stable: u32,
}

impl BorderCount {
    pub(crate) fn blocks(self, block: BlockSize) -> u32 {
        self.stable / block.get()
    }
}

/// The ends of the two stable parts. They do not move while a conversation grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StableParts {
    pub(crate) static_end: Option<BorderCount>,
    pub(crate) semi_static_end: Option<BorderCount>,
    /// Where the first prefix may end that gets a name, see [`Rendered::nameless`].
    pub(crate) nameless: Option<BorderCount>,
}

impl StableParts {
    pub(crate) fn find<T: Tokenize + ?Sized>(
        seams: &Seams<'_, T>,
        rendered: &Rendered,
    ) -> Result<Self, TokenizeError> {
        let count = |at: Option<usize>| at.map(|at| count(seams, at, None)).transpose();
        Ok(Self {
            static_end: count(rendered.static_end)?,
            semi_static_end: count(rendered.semi_static_end)?,
            nameless: count(rendered.nameless())?,
        })
    }
}

/// How many of the newest turns get a rung.
const NEWEST_TURNS: usize = 4;

/// All borders of a prompt that can have rungs.
#[derive(Clone, Debug)]
pub(crate) struct Borders {
    pub(crate) parts: StableParts,
    /// The newest turns, the very newest first, each with its place among the turns.
    pub(crate) turns: Vec<(usize, BorderCount)>,
    /// Blocks that a rung has to name at least.
    pub(crate) floor: u32,
    /// Blocks that a rung may name at most.
    pub(crate) limit: u32,
    /// Whether tokens before a border were tried out or stay by themselves.
    pub(crate) seam: Seam,
}

impl Borders {
    /// `tokens` is how many the whole prompt has.
    pub(crate) fn find<T: Tokenize + ?Sized>(
        seams: &Seams<'_, T>,
        rendered: &Rendered,
        parts: StableParts,
        block: BlockSize,
        tokens: u32,
    ) -> Result<Self, TokenizeError> {
        // A message is always followed by the marker of the next one.
        let next = (rendered.renderer == Renderer::ChatMl).then_some(MESSAGE_START);
        let ends = rendered.turns.iter().enumerate().rev();
        let ends = ends.map(|(index, turn)| Ok((index, count(seams, turn.end, next)?)));
        let turns: Vec<_> = ends
            .take(NEWEST_TURNS)
            .collect::<Result<_, TokenizeError>>()?;
        // An engine computes at least the last token again, so the block it completes is no hit.
        // Nor is the invitation to speak, which the next turn need not repeat.
        let reusable = tokens.saturating_sub(1) / block.get();
        let newest = turns.first().map_or(0, |(_, turn)| turn.blocks(block));
        Ok(Self {
            floor: parts.nameless.map_or(0, |border| border.blocks(block)),
            parts,
            turns,
            limit: newest.min(reusable),
            seam: seams.tokenizer.seam(None),
        })
    }

    /// In whole blocks, the most important border first.
    pub(crate) fn wanted(&self, block: BlockSize) -> Vec<u32> {
        let parts = [self.parts.static_end, self.parts.semi_static_end];
        let parts = parts
            .into_iter()
            .map(|part| part.map_or(0, |border| border.blocks(block)));
        let turns = self.turns.iter().map(|(_, turn)| turn.blocks(block));
        parts.chain(turns).collect()
    }
}

fn count<T: Tokenize + ?Sized>(
    seams: &Seams<'_, T>,
    at: usize,
    next: Option<&str>,
) -> Result<BorderCount, TokenizeError> {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let count = seams.count(at, next)?;
    Ok(BorderCount {
        at,
        tokens: number(count.alone),
        stable: number(count.stable),
    })
}
