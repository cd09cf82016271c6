//! What was signed and what it is worth: tokens by part, borders, rungs, reuse, risks.

use std::fmt;

use headwater_signature::{BlockSize, PrefixHash};
use headwater_text::Position;

use crate::{
    Change, Padding, Role, Seam, SegmentLabel, SignedPrompt, Volatility, Warning,
    borders::BorderCount,
    prompt::Joint,
    render::{Piece, Rendered, Renderer},
};

mod table;

/// Everything there is to know about a signed prompt but its text. `Display` is a table for
/// people.
///
/// ```
/// use headwater::{BytesTokenizer, Chat, SignOptions, Turn};
///
/// let chat = Chat::new()
///     .system("You answer questions about the harbour. ".repeat(12))
///     .turn(Turn::user("When is high tide?"));
/// let signed = chat.prompt()?.sign(&BytesTokenizer, &SignOptions::default())?;
/// let report = signed.report();
///
/// // Every request with these instructions can reuse seven blocks of 16 tokens.
/// assert_eq!(report.reuse.same_template_tokens, 7 * 16);
/// assert_eq!(report.rungs.last().map(|rung| rung.stands_for[0].to_string()), Some("turn 1".into()));
/// println!("{report}");
/// # Ok::<(), headwater::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Tokens in one block.
    pub block: BlockSize,
    /// Tokens in the prompt.
    pub tokens: u32,
    /// Whole blocks in the prompt.
    pub blocks: u32,
    /// Tokens of each segment, in order.
    pub segments: Vec<SegmentReport>,
    /// Tokens of each turn with the markers around it. A plain prompt's turns are its segments.
    pub turns: Vec<TurnReport>,
    /// Where the stable parts and the newest turns end, in order.
    pub borders: Vec<BorderReport>,
    /// The prefixes that the header names, shortest first.
    pub rungs: Vec<RungReport>,
    /// What an engine can be expected to reuse.
    pub reuse: Reuse,
    /// What alignment did.
    pub paddings: Vec<Padding>,
    /// What cleaning changed.
    pub changes: Vec<Change>,
    /// What was kept and deserves a look.
    pub warnings: Vec<Warning>,
    /// Ends of stable text that lose tokens to what follows.
    pub risks: Vec<Risk>,
}

/// One segment in numbers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SegmentReport {
    /// Which.
    pub segment: SegmentLabel,
    /// Bytes of its canonical text.
    pub bytes: usize,
    /// Tokens that end in it.
    pub tokens: u32,
    /// Changes that cleaning made.
    pub changes: usize,
}

/// One turn in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnReport {
    /// Who speaks; `None` for tools and in a plain prompt.
    pub role: Option<Role>,
    /// Tokens that end in it, markers included.
    pub tokens: u32,
}

/// A place in a prompt that a rung can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Border {
    /// The end of what is the same for all requests.
    StaticEnd,
    /// The end of what is the same for a tenant or session.
    SemiStaticEnd,
    /// The end of a turn, counted from 0.
    Turn(usize),
    /// No place: a step of the ladder that all prompts share.
    Ladder,
}

/// A border in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BorderReport {
    /// Which.
    pub border: Border,
    /// The byte of the text at which it stands.
    pub byte: usize,
    /// Tokens that the text up to it has when nothing follows.
    pub tokens: u32,
    /// Those of them that stay whatever follows.
    pub stable_tokens: u32,
    /// Those of them that fill whole blocks, which alone can be reused.
    pub aligned_tokens: u32,
}

/// A named prefix and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RungReport {
    /// Its length in blocks.
    pub blocks: u32,
    /// Its length in tokens.
    pub tokens: u32,
    /// Its name.
    pub hash: PrefixHash,
    /// The borders whose last whole block it ends with, or the ladder.
    pub stands_for: Vec<Border>,
}

/// Tokens of this prompt that an engine which has them can reuse, if the other request shares as
/// much as it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reuse {
    /// Any request of the same template.
    pub same_template_tokens: u32,
    /// A request of the same tenant or session.
    pub same_tenant_tokens: u32,
    /// The next turn of the same conversation.
    pub same_conversation_tokens: u32,
}

/// The end of stable text that loses tokens to the text behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Risk {
    /// The last segment of the part.
    pub segment: SegmentLabel,
    /// The last character in the segment's canonical text.
    pub position: Position,
    /// What is wrong with the end.
    pub kind: RiskKind,
    /// Tokens before the border that what follows can change; `None` where a vocabulary would be
    /// needed to tell.
    pub unstable_tokens: Option<u32>,
    /// Tokens that can no longer be reused because of it, whole blocks; `None` as above, then at
    /// most a block for every token that merges.
    pub lost_tokens: Option<u32>,
}

/// Why the end of a text does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RiskKind {
    /// It ends with a blank, which vocabularies join to the next word.
    TrailingSpace,
    /// A letter or digit at its end meets one behind it.
    MidWord,
    /// The vocabulary merges across the border for another reason, line ends mostly.
    Merges,
}

impl RiskKind {
    /// `trailing_space`, `mid_word` or `merges`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TrailingSpace => "trailing_space",
            Self::MidWord => "mid_word",
            Self::Merges => "merges",
        }
    }

    /// What to do about it.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::TrailingSpace => "end the text with a line end instead of a blank",
            Self::MidWord => "end the text with a line end, so that no word goes across",
            Self::Merges => "begin the following text with a letter, or put it into a message",
        }
    }
}

impl fmt::Display for Border {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StaticEnd => f.write_str("static end"),
            Self::SemiStaticEnd => f.write_str("semi-static end"),
            Self::Turn(index) => write!(f, "turn {index}"),
            Self::Ladder => f.write_str("ladder"),
        }
    }
}

impl SignedPrompt {
    /// What was signed, in numbers. Made when asked for: signing does not pay for it.
    pub fn report(&self) -> Report {
        let block = self.signature.block();
        let view = View {
            signed: self,
            block,
        };
        Report {
            block,
            tokens: self.tokens(),
            blocks: self.blocks(),
            segments: view.segments(),
            turns: view.turns(),
            borders: view.borders(),
            rungs: view.rungs(),
            reuse: view.reuse(),
            paddings: self.notes.paddings.clone(),
            changes: self.changes().to_vec(),
            warnings: self.warnings().to_vec(),
            risks: view.risks(),
        }
    }
}

/// A signed prompt, looked at.
struct View<'a> {
    signed: &'a SignedPrompt,
    block: BlockSize,
}

impl View<'_> {
    fn rendered(&self) -> &Rendered {
        &self.signed.rendered
    }

    /// Tokens that end behind `start` and not behind `end`.
    fn tokens_in(&self, start: usize, end: usize) -> u32 {
        let tokens = &self.signed.tokens;
        let count = tokens.before(end) - tokens.before(start).min(tokens.before(end));
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn segments(&self) -> Vec<SegmentReport> {
        let mut changes = vec![0; self.rendered().pieces.len()];
        for change in self.signed.changes() {
            if let Some(count) = changes.get_mut(change.segment) {
                *count += change.change.times();
            }
        }
        let pieces = self.rendered().pieces.iter().zip(changes);
        let report = |(piece, changes): (&Piece, usize)| SegmentReport {
            segment: piece.label.clone(),
            bytes: piece.range.len(),
            tokens: self.tokens_in(piece.range.start, piece.range.end),
            changes,
        };
        pieces.map(report).collect()
    }

    fn turns(&self) -> Vec<TurnReport> {
        let mut start = 0;
        let report = |turn: &crate::render::Turn| TurnReport {
            role: turn.role,
            tokens: self.tokens_in(std::mem::replace(&mut start, turn.end), turn.end),
        };
        self.rendered().turns.iter().map(report).collect()
    }

    /// All borders, in the order of their importance.
    fn places(&self) -> impl Iterator<Item = (Border, BorderCount)> {
        let borders = &self.signed.borders;
        let parts = [
            (Border::StaticEnd, borders.parts.static_end),
            (Border::SemiStaticEnd, borders.parts.semi_static_end),
        ];
        let parts = parts
            .into_iter()
            .filter_map(|(border, count)| Some((border, count?)));
        let turns = borders.turns.iter();
        parts.chain(turns.map(|(index, count)| (Border::Turn(*index), *count)))
    }

    fn borders(&self) -> Vec<BorderReport> {
        let report = |(border, count): (Border, BorderCount)| BorderReport {
            border,
            byte: count.at,
            tokens: count.tokens,
            stable_tokens: count.stable,
            aligned_tokens: count.blocks(self.block) * self.block.get(),
        };
        let mut borders: Vec<_> = self.places().map(report).collect();
        borders.sort_by_key(|border| border.byte);
        borders
    }

    fn rungs(&self) -> Vec<RungReport> {
        let rungs = self.signed.signature.rungs().iter();
        let report = |rung: &headwater_signature::Rung| {
            let places = self.places();
            let ends = places.filter(|(_, count)| count.blocks(self.block) == rung.blocks);
            let mut stands_for: Vec<Border> = ends.map(|(border, _)| border).collect();
            if stands_for.is_empty() {
                stands_for.push(Border::Ladder);
            }
            RungReport {
                blocks: rung.blocks,
                tokens: rung.blocks.saturating_mul(self.block.get()),
                hash: rung.hash,
                stands_for,
            }
        };
        rungs.map(report).collect()
    }

    fn reuse(&self) -> Reuse {
        let borders = &self.signed.borders;
        // What has no rung is nothing to count on.
        let tokens = |blocks: u32| match blocks.min(borders.limit) {
            blocks if blocks < borders.floor => 0,
            blocks => blocks * self.block.get(),
        };
        let end = |count: Option<BorderCount>| count.map_or(0, |count| count.blocks(self.block));
        let template = end(borders.parts.static_end);
        let tenant = end(borders.parts.semi_static_end).max(template);
        Reuse {
            same_template_tokens: tokens(template),
            same_tenant_tokens: tokens(tenant),
            same_conversation_tokens: tokens(borders.limit),
        }
    }

    fn risks(&self) -> Vec<Risk> {
        let parts = self.signed.borders.parts;
        let ends = [parts.static_end, parts.semi_static_end];
        ends.into_iter()
            .flatten()
            .filter_map(|count| self.risk(count))
            .collect()
    }

    /// The risk at the end of a part that text of another volatility follows with nothing between.
    fn risk(&self, count: BorderCount) -> Option<Risk> {
        let pieces = &self.rendered().pieces;
        let place = pieces.iter().rposition(|piece| {
            piece.range.end == count.at && piece.label.volatility != Volatility::Dynamic
        })?;
        let (piece, next) = (pieces.get(place)?, pieces.get(place + 1)?);
        let plain = self.rendered().renderer == Renderer::Plain;
        if !plain && next.joint != Joint::Joins {
            return None;
        }
        let text = |piece: &Piece| self.rendered().text.get(piece.range.clone());
        let (before, after) = (text(piece)?, text(next)?);
        let last = before.chars().next_back()?;
        let unstable = count.tokens.saturating_sub(count.stable);
        let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let kind = if last != '\n' && last.is_whitespace() {
            RiskKind::TrailingSpace
        } else if word(Some(last)) && word(after.chars().next()) {
            RiskKind::MidWord
        } else if unstable > 0 {
            RiskKind::Merges
        } else {
            return None;
        };
        let block = self.block.get();
        let measured = self.signed.borders.seam == Seam::Probe;
        let lost = (count.tokens / block).saturating_sub(count.stable / block) * block;
        let offset = before.len() - last.len_utf8();
        Some(Risk {
            segment: piece.label.clone(),
            position: headwater_text::LineTable::new(before).position(offset),
            kind,
            unstable_tokens: measured.then_some(unstable),
            lost_tokens: measured.then_some(lost),
        })
    }
}
