//! What cleaning gives back: the text, every change with its place, and what needs a person.

use std::fmt;

use crate::{Action, Position, Sighting, Span, name};

/// A step of cleaning, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Step {
    /// CRLF, CR, NEL, LS and PS become LF.
    Newline,
    /// Byte order marks go.
    Bom,
    /// Characters that can deceive a reader or break a backend go (dynamic text only:
    /// elsewhere they are an error).
    Dangerous,
    /// C0 and C1 controls go.
    Control,
    /// Invisible characters without a meaning in their context go.
    Invisible,
    /// Unicode spaces become U+0020 unless their language needs them.
    Space,
    /// Form NFC (never NFKC).
    Nfc,
    /// Spaces and tabs at the ends of lines go.
    TrailingSpace,
    /// Blank lines at the start of a segment that follows another one go.
    SegmentStart,
    /// Exactly one LF ends a segment.
    SegmentEnd,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Self; 10] = [
        Self::Newline,
        Self::Bom,
        Self::Dangerous,
        Self::Control,
        Self::Invisible,
        Self::Space,
        Self::Nfc,
        Self::TrailingSpace,
        Self::SegmentStart,
        Self::SegmentEnd,
    ];

    /// The step in lower-case words joined by underscores.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Newline => "newline",
            Self::Bom => "bom",
            Self::Dangerous => "dangerous",
            Self::Control => "control",
            Self::Invisible => "invisible",
            Self::Space => "space",
            Self::Nfc => "nfc",
            Self::TrailingSpace => "trailing_space",
            Self::SegmentStart => "segment_start",
            Self::SegmentEnd => "segment_end",
        }
    }
}

/// One change, at its place in the text that was handed in.
///
/// Displays as `line:column: step: what happened`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The step that made it.
    pub step: Step,
    /// The bytes of the input that it concerns; empty where something was inserted.
    pub span: Span,
    /// The same place for people.
    pub position: Position,
    /// The (first) character that it concerns; none where something was inserted.
    pub code_point: Option<char>,
    /// What was done.
    pub action: Action,
    /// At how many more ends of lines the same was done: of CRLF, at so many that follow before
    /// the next change of the list; of spaces ahead of a line's end, on so many lines that follow
    /// one another. Zero for everything else.
    pub repeats: usize,
}

impl Change {
    /// How often it was done, this place included.
    #[must_use]
    pub fn times(&self) -> usize {
        1 + self.repeats
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}: {}",
            self.position,
            self.step.as_str(),
            self.action.as_str()
        )?;
        if let Some(c) = self.code_point {
            write!(f, " ⟨U+{:04X}⟩", u32::from(c))?;
            // Letters that NFC touches are not in the table and need no introduction.
            if name(c) != "CHARACTER" {
                write!(f, " {}", name(c))?;
            }
        }
        match self.action {
            Action::Replace(text) => write!(f, " with {text:?}")?,
            Action::Insert(text) => write!(f, " {text:?}")?,
            _ => {}
        }
        match self.repeats {
            0 => Ok(()),
            1 => write!(f, ", and at the next end of a line"),
            more => write!(f, ", and at the next {more} ends of lines"),
        }
    }
}

/// A cleaned text with the account of what was done to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cleaned {
    /// The canonical text.
    pub text: String,
    /// Every change, in the order of the input; ends of lines that changed alike are one entry
    /// with a count.
    pub changes: Vec<Change>,
    /// Characters that are still there and that somebody should look at, in the order of the
    /// input.
    pub warnings: Vec<Sighting>,
}

impl Cleaned {
    /// How many changes a step made.
    #[must_use]
    pub fn count(&self, step: Step) -> usize {
        self.changes
            .iter()
            .filter(|change| change.step == step)
            .map(Change::times)
            .sum()
    }

    /// The steps that changed something and how often, in the order of the steps.
    pub fn counts(&self) -> impl Iterator<Item = (Step, usize)> + '_ {
        Step::ALL
            .into_iter()
            .map(|step| (step, self.count(step)))
            .filter(|(_, count)| *count > 0)
    }
}

/// The text holds characters that must not be in it and that no program may remove unasked.
///
/// Displays one line for each of them and then the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CleanError {
    /// All of them, in the order of the text; never empty.
    pub sightings: Vec<Sighting>,
}

impl fmt::Display for CleanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sightings.as_slice() {
            [_] => writeln!(f, "a character must not be in static prompt text")?,
            all => writeln!(
                f,
                "{} characters must not be in static prompt text",
                all.len()
            )?,
        }
        for sighting in &self.sightings {
            writeln!(f, "  {sighting}")?;
        }
        write!(
            f,
            "help: delete them if you did not put them there; if they belong there, mark the segment `verbatim`"
        )
    }
}

impl std::error::Error for CleanError {}
