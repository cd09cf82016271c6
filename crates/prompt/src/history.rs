//! Changes to what was already sent. Each one is explicit and tells what it costs.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use headwater_signature::Rung;

use crate::{
    Conversation, Error, Prompt, PromptError, Seam, Turn,
    prompt::{CleanSegment, Joint},
    signed::Notes,
};

/// What a change to the history costs: everything from its first changed byte on has to be
/// computed again, once, and the names of those prefixes find nothing any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// The first turn that is not what it was.
    pub first_turn: usize,
    /// Tokens ahead of it, which are still good.
    pub kept_tokens: u32,
    /// Tokens from there on in the prompt as it was.
    pub lost_tokens: u32,
    /// The names that were last sent or would have been, and no longer hold.
    pub lost: Vec<Rung>,
    /// Tokens of the new prompt behind the kept ones, to be computed by the next request.
    pub new_tokens: u32,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "changed from turn {} on: {} tokens kept, {} lost with {} prefix names, {} to compute again",
            self.first_turn,
            self.kept_tokens,
            self.lost_tokens,
            self.lost.len(),
            self.new_tokens,
        )
    }
}

impl Conversation {
    /// Forgets the turns of this range, as one does when the window is full. Dropping few turns
    /// often costs the whole history every time; dropping many seldom costs it seldom.
    ///
    /// ```
    /// # use headwater::{BytesTokenizer, Chat, Prepared, SignOptions, Turn};
    /// # let head = Prepared::new(Chat::new().system("Be brief."), BytesTokenizer, SignOptions::default())?;
    /// let mut talk = head.conversation();
    /// for hour in 0..6 {
    ///     talk.push(Turn::user(format!("How is the sea at {hour}?")))?;
    ///     talk.push(Turn::assistant("Calm."))?;
    /// }
    /// let cost = talk.drop_turns(0..8)?;
    /// assert_eq!((talk.turns(), cost.first_turn), (4, 0));
    /// assert!(cost.lost_tokens > cost.new_tokens);
    /// # Ok::<(), headwater::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no such turns, or as [`sign`](Self::sign), then nothing has changed.
    pub fn drop_turns(&mut self, turns: Range<usize>) -> Result<Cost, Error> {
        self.replace(turns, None)
    }

    /// Puts another turn in the place of one.
    ///
    /// # Errors
    /// There is no such turn, a fact's name is no name, or as [`sign`](Self::sign). Then nothing
    /// has changed.
    pub fn rewrite(&mut self, turn: usize, new: impl Into<Turn>) -> Result<Cost, Error> {
        self.replace(turn..turn + 1, Some(new.into()))
    }

    /// Puts one turn, a summary, in the place of several.
    ///
    /// # Errors
    /// As [`rewrite`](Self::rewrite).
    pub fn compact(
        &mut self,
        turns: Range<usize>,
        summary: impl Into<Turn>,
    ) -> Result<Cost, Error> {
        self.replace(turns, Some(summary.into()))
    }

    fn replace(&mut self, turns: Range<usize>, new: Option<Turn>) -> Result<Cost, Error> {
        if turns.start > turns.end || turns.end > self.turns() {
            return Err(PromptError::NoTurns {
                asked: turns,
                turns: self.turns(),
            }
            .into());
        }
        let mut changed = self.clone();
        let before = changed.sign()?;
        changed.cut_and_write(turns.clone(), new)?;
        changed.forget_first_turn();
        let after = changed.sign()?;
        let ids = before.tokens.ids.iter().zip(&after.tokens.ids);
        let kept = ids.take_while(|(before, after)| before == after).count();
        let kept_tokens = u32::try_from(kept).unwrap_or(u32::MAX);
        let names = before.signature().rungs().iter().copied();
        let block = before.signature().block().get();
        let cost = Cost {
            first_turn: turns.start,
            kept_tokens,
            lost_tokens: before.tokens() - kept_tokens,
            lost: names
                .filter(|rung| rung.blocks.saturating_mul(block) > kept_tokens)
                .collect(),
            new_tokens: after.tokens() - kept_tokens,
        };
        // What was sent last was the conversation as it was.
        changed.sent_tokens = self.sent_tokens;
        *self = changed;
        Ok(cost)
    }

    fn cut_and_write(&mut self, turns: Range<usize>, new: Option<Turn>) -> Result<(), PromptError> {
        let starts = &self.state.turns;
        let rendered = Arc::make_mut(&mut self.state.rendered);
        let Some(first) = starts.get(turns.start).copied() else {
            // Nothing is taken away behind the last turn.
            return new.map_or(Ok(()), |turn| self.state.push(&turn));
        };
        let kept_from = starts.get(turns.end).map(|start| start - first);
        let mut taken = rendered.cut(first);
        let kept = kept_from.map_or_else(Vec::new, |start| taken.split_off(start));
        let later = turns_of(kept, &self.state.notes);
        self.state.turns.truncate(turns.start);
        Arc::make_mut(&mut self.state.notes).forget_from(first);
        self.forget_tokens();
        if let Some(new) = new {
            self.state.push(&new)?;
        }
        for turn in later {
            self.state
                .append(turn.renumbered(self.state.rendered.pieces.len()));
        }
        Ok(())
    }

    /// The chain cannot go back, so it starts again at the head's.
    fn forget_tokens(&mut self) {
        let head = self.head.head();
        let end = self.state.rendered.end();
        self.state.encoded = self.state.encoded.min(end);
        self.state.chain = if head.seam == Seam::Exact && head.state.rendered.end() <= end {
            head.state.chain.clone()
        } else {
            head.seed.chain()
        };
    }
}

/// Groups cleaned segments by turn, each with what cleaning had to say about it.
fn turns_of(segments: Vec<CleanSegment>, notes: &Notes) -> Vec<Prompt> {
    let mut turns: Vec<Prompt> = Vec::new();
    for segment in segments {
        let index = segment.label.index;
        if turns.is_empty() || !matches!(segment.joint, Joint::Joins) {
            turns.push(Prompt::default());
        }
        let Some(turn) = turns.last_mut() else {
            continue;
        };
        let changes = notes
            .changes
            .iter()
            .filter(|change| change.segment == index);
        Arc::make_mut(&mut turn.changes).extend(changes.cloned());
        let warnings = notes
            .warnings
            .iter()
            .filter(|found| found.segment.index == index);
        Arc::make_mut(&mut turn.warnings).extend(warnings.cloned());
        turn.segments.push(segment);
    }
    turns
}

impl Prompt {
    /// The same with its first segment at this place.
    fn renumbered(mut self, first: usize) -> Self {
        let old = self
            .segments
            .first()
            .map_or(0, |segment| segment.label.index);
        let place = |index: usize| first + index.saturating_sub(old);
        for segment in &mut self.segments {
            segment.label.index = place(segment.label.index);
        }
        for change in Arc::make_mut(&mut self.changes) {
            change.segment = place(change.segment);
        }
        for warning in Arc::make_mut(&mut self.warnings) {
            warning.segment.index = place(warning.segment.index);
        }
        self
    }
}

impl Notes {
    /// Forgets what was said of segments from this place on.
    fn forget_from(&mut self, segment: usize) {
        Arc::make_mut(&mut self.changes).retain(|change| change.segment < segment);
        Arc::make_mut(&mut self.warnings).retain(|found| found.segment.index < segment);
    }
}
