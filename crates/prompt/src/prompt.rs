//! A prompt: cleaned segments in cache order, and what cleaning found.

use std::sync::Arc;

use headwater_text::{LineTable, Position, Profile, Sighting};

use crate::{
    Cleaning, PromptError, Role, Segment, SegmentLabel, Volatility,
    message::{Media, ToolCall},
    render::MARKERS,
};

/// A prompt whose segments are in order, cleaned, and free of what could hide in text.
///
/// Its text comes only together with its signature, from [`sign`](Self::sign): what is signed is
/// what is sent.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    pub(crate) segments: Vec<CleanSegment>,
    /// Shared with what is signed: a file from another system has a change in every line.
    pub(crate) changes: Arc<Vec<Change>>,
    pub(crate) warnings: Arc<Vec<Warning>>,
}

/// A segment after cleaning.
#[derive(Clone, Debug)]
pub(crate) struct CleanSegment {
    pub(crate) label: SegmentLabel,
    pub(crate) text: String,
    pub(crate) joint: Joint,
    pub(crate) body: Body,
}

/// How a segment stands to the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// In one message with it where both have the same role.
    ByRole,
    /// It begins a message.
    Opens,
    /// It begins a message that answers the tool call of this id.
    Answers(String),
    /// It is part of the same message.
    Joins,
}

/// Where a segment's text goes in the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Into the content of a message.
    Text,
    /// Nowhere: this part of the message does.
    Media(Media),
    /// Nowhere: this call does.
    Call(ToolCall),
    /// Beside the messages.
    Tools,
}

impl CleanSegment {
    pub(crate) fn role(&self) -> Option<Role> {
        self.label.role
    }
}

/// One change that cleaning made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change {
    /// The segment's place in the prompt, from 0.
    pub segment: usize,
    /// What was changed, and where in the segment's text as it was handed in.
    pub change: headwater_text::Change,
}

/// Something that was kept and deserves a look.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Warning {
    /// Which segment.
    pub segment: SegmentLabel,
    /// Where in the segment's text as it was handed in.
    pub position: Position,
    /// What.
    pub kind: WarningKind,
}

/// What was kept and deserves a look.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WarningKind {
    /// A character that readers do not see.
    Invisible(Sighting),
    /// A message marker inside the text of a message. Not a border for a vocabulary that knows
    /// markers; in the name that [`BytesTokenizer`](crate::BytesTokenizer) makes it looks like
    /// one, as it does to an engine that reads control tokens in text.
    Marker(&'static str),
    /// Nothing is left of the segment.
    Empty,
}

/// Segments whose volatility is known at run time only, checked as they come.
///
/// ```
/// use headwater::{PromptDraft, Segment, Volatility};
///
/// let mut draft = PromptDraft::new();
/// draft.push(Volatility::Dynamic, Segment::user("What changed?").name("question"))?;
/// let error = draft.push(Volatility::Static, Segment::system("Be brief.")).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "segment 1 (system, static) stands behind segment 0 `question` (user, dynamic), which \
///      changes more often; put static before semi_static before dynamic",
/// );
/// # Ok::<(), headwater::PromptError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PromptDraft {
    segments: Vec<(SegmentLabel, Segment)>,
}

impl PromptDraft {
    /// A draft without segments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a segment behind the others.
    ///
    /// # Errors
    /// The segment is more stable than the last one, or has a role where the others have none or
    /// the other way round. The draft stays as it was.
    pub fn push(&mut self, volatility: Volatility, segment: Segment) -> Result<(), PromptError> {
        let label = SegmentLabel::of(self.segments.len(), volatility, &segment);
        if let Some((last, _)) = self.segments.last() {
            if last.volatility > volatility {
                return Err(PromptError::OutOfOrder {
                    earlier: last.clone(),
                    later: label,
                });
            }
            if last.role.is_some() != label.role.is_some() {
                return Err(PromptError::MixedRoles {
                    earlier: last.clone(),
                    later: label,
                });
            }
        }
        self.segments.push((label, segment));
        Ok(())
    }

    /// Cleans the segments.
    ///
    /// # Errors
    /// There is no segment; a segment has characters that cleaning refuses (tag characters, bidi
    /// overrides); a static or semi-static message contains a message marker.
    pub fn build(self) -> Result<Prompt, PromptError> {
        if self.segments.is_empty() {
            return Err(PromptError::NoSegments);
        }
        let mut prompt = Prompt::default();
        for (label, segment) in self.segments {
            prompt.add(label, &segment, Joint::ByRole)?;
        }
        Ok(prompt)
    }
}

impl Prompt {
    /// What cleaning changed, segment by segment.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What was kept and deserves a look.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Cleans a segment and puts it behind the others.
    pub(crate) fn add(
        &mut self,
        label: SegmentLabel,
        segment: &Segment,
        joint: Joint,
    ) -> Result<(), PromptError> {
        let profile = profile(label.volatility, segment.cleaning);
        let clean = if label.index == 0 {
            headwater_text::clean
        } else {
            headwater_text::clean_following
        };
        let cleaned = clean(&segment.text, profile).map_err(|error| PromptError::Refused {
            segment: label.clone(),
            error,
        })?;
        if !cleaned.changes.is_empty() {
            let changes = cleaned.changes.into_iter().map(|change| Change {
                segment: label.index,
                change,
            });
            Arc::make_mut(&mut self.changes).extend(changes);
        }
        let mut warn = |position, kind| {
            Arc::make_mut(&mut self.warnings).push(Warning {
                segment: label.clone(),
                position,
                kind,
            });
        };
        for sighting in cleaned.warnings {
            warn(sighting.position, WarningKind::Invisible(sighting));
        }
        if let Some((marker, position)) = marker_in(&label, segment, &cleaned.text) {
            if label.volatility != Volatility::Dynamic && segment.cleaning != Cleaning::Verbatim {
                return Err(PromptError::Marker {
                    segment: label,
                    marker,
                    position,
                });
            }
            warn(position, WarningKind::Marker(marker));
        }
        if cleaned.text.is_empty() {
            warn(Position { line: 1, column: 1 }, WarningKind::Empty);
        }
        self.segments.push(CleanSegment {
            label,
            text: cleaned.text,
            joint,
            body: Body::Text,
        });
        Ok(())
    }
}

fn profile(volatility: Volatility, cleaning: Cleaning) -> Profile {
    match (cleaning, volatility) {
        (Cleaning::Verbatim, _) => Profile::Verbatim,
        (Cleaning::ByVolatility, Volatility::Static | Volatility::SemiStatic) => Profile::Strict,
        (Cleaning::ByVolatility, Volatility::Dynamic) => Profile::Dynamic,
    }
}

/// The first message marker in a message's text. The position is in the text as handed in where
/// it stands there in full, else (a character was hidden in it) in the cleaned text.
fn marker_in(
    label: &SegmentLabel,
    segment: &Segment,
    cleaned: &str,
) -> Option<(&'static str, Position)> {
    label.role?;
    let find = |text: &str| {
        // All of them begin alike, so the text is read once.
        let mut starts = text.match_indices('<');
        let (at, marker) = starts.find_map(|(at, _)| {
            let rest = text.get(at..)?;
            let marker = MARKERS
                .into_iter()
                .find(|marker| rest.starts_with(marker))?;
            Some((at, marker))
        })?;
        Some((marker, LineTable::new(text).position(at)))
    };
    let in_cleaned = find(cleaned)?;
    Some(find(&segment.text).unwrap_or(in_cleaned))
}
