//! The surroundings of one character: what stays before it, what follows, what its line holds.

use std::cell::OnceCell;
use std::str::Chars;

use unicode_normalization::char::canonical_combining_class;
use unicode_script::Script;

use crate::layout::Line;
use crate::{script, table};

/// Combining marks looked through to find the letter under them; more are never real text,
/// and a limit keeps the work linear.
const MAX_MARKS: usize = 30;

/// Bytes of text before a character that can decide about it.
pub(crate) const REACH: usize = 4 * (MAX_MARKS + 2);

/// The surroundings of one character.
pub(crate) struct Scene<'a> {
    /// The whole text.
    pub(crate) text: &'a str,
    /// Where the character stands in it, in bytes.
    pub(crate) at: usize,
    pub(crate) this: char,
    /// What stays of the text before it, its last [`REACH`] bytes at least.
    pub(crate) kept: &'a str,
    pub(crate) line: &'a LineFacts<'a>,
    /// Inside a `<math>` element.
    pub(crate) math: Math,
}

/// Whether a place is inside MathML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Math {
    Inside,
    Outside,
}

impl Scene<'_> {
    /// The character before it that stays.
    pub(crate) fn before(&self) -> Option<char> {
        self.kept.chars().next_back()
    }

    /// The characters after it, as they are.
    pub(crate) fn rest(&self) -> Chars<'_> {
        let start = self.at + self.this.len_utf8();
        self.text.get(start..).unwrap_or_default().chars()
    }

    /// The character after it. One of the table may go, so it is no context for another one.
    pub(crate) fn after(&self) -> Option<char> {
        let after = self.rest().next()?;
        table::class(after).is_none().then_some(after)
    }

    /// The letter before it, under its combining marks.
    pub(crate) fn letter_before(&self) -> Option<char> {
        self.kept
            .chars()
            .rev()
            .take(MAX_MARKS)
            .find(|c| !script::is_mark(*c))
            .filter(|c| script::is_letter(*c))
    }

    pub(crate) fn follows_virama(&self) -> bool {
        self.kept
            .chars()
            .rev()
            .take(MAX_MARKS)
            .take_while(|c| canonical_combining_class(*c) != 0)
            .any(script::is_virama)
    }

    pub(crate) fn follows_mongolian(&self) -> bool {
        self.letter_before()
            .is_some_and(|c| script::is(c, Script::Mongolian))
    }
}

/// Something that a line has or has not.
#[derive(Clone, Copy)]
pub(crate) enum Feature {
    RtlLetter,
    Cjk,
    Ogham,
    Braille,
    Music,
    Shorthand,
    Hieroglyph,
}

impl Feature {
    /// The notation that a format character of music, shorthand or Egyptian belongs to.
    pub(crate) fn of_notation(c: char) -> Self {
        match c {
            '\u{13430}'..='\u{1343F}' => Self::Hieroglyph,
            '\u{1BCA0}'..='\u{1BCA3}' => Self::Shorthand,
            _ => Self::Music,
        }
    }

    fn is_shown_by(self, c: char) -> bool {
        match self {
            Self::RtlLetter => script::is_rtl_letter(c),
            Self::Cjk => script::is_cjk(c) && table::class(c).is_none(),
            Self::Ogham => script::is(c, Script::Ogham) && script::is_letter(c),
            Self::Braille => matches!(c, '\u{2801}'..='\u{28FF}'),
            Self::Music => matches!(c, '\u{1D100}'..='\u{1D172}' | '\u{1D17B}'..='\u{1D1FF}'),
            Self::Shorthand => script::is(c, Script::Duployan),
            Self::Hieroglyph => script::is(c, Script::Egyptian_Hieroglyphs) && script::is_letter(c),
        }
    }
}

/// What is known of one line; found out at most once, and only when somebody asks.
pub(crate) struct LineFacts<'a> {
    text: &'a str,
    line: Line,
    features: [OnceCell<bool>; 7],
    pairs: OnceCell<Vec<usize>>,
    indentation: OnceCell<usize>,
}

impl<'a> LineFacts<'a> {
    pub(crate) fn new(text: &'a str, line: Line) -> Self {
        Self {
            text: &text[line.start..line.end],
            line,
            features: Default::default(),
            pairs: OnceCell::new(),
            indentation: OnceCell::new(),
        }
    }

    /// Whether a byte at or behind the line's start belongs to it.
    pub(crate) fn has_byte(&self, at: usize) -> bool {
        at < self.line.next || self.line.next == self.line.end
    }

    pub(crate) fn is_fenced(&self) -> bool {
        self.line.fenced
    }

    pub(crate) fn has(&self, feature: Feature) -> bool {
        let look = || {
            let mut letters = self.text.chars().filter(|c| !c.is_ascii());
            letters.any(|c| feature.is_shown_by(c))
        };
        self.features
            .get(feature as usize)
            .is_some_and(|cell| *cell.get_or_init(look))
    }

    /// Whether the isolate at a position of the text is one half of a pair within the line.
    pub(crate) fn is_paired(&self, at: usize) -> bool {
        let pairs = self.pairs.get_or_init(|| pairs(self.text));
        pairs.binary_search(&(at - self.line.start)).is_ok()
    }

    /// Whether the tab at a position of the text follows a space in the line's indentation,
    /// where nobody can see how far it reaches.
    pub(crate) fn hides_in_indentation(&self, at: usize) -> bool {
        let at = at - self.line.start;
        let bytes = self.text.as_bytes();
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
        let blank = || bytes.iter().take_while(is_blank).count();
        at > 0 && bytes[at - 1] == b' ' && at < *self.indentation.get_or_init(blank)
    }
}

/// The positions of isolates that have a partner, rising.
fn pairs(line: &str) -> Vec<usize> {
    let mut open = Vec::new();
    let mut paired = Vec::new();
    for (at, c) in line.char_indices() {
        match c {
            '\u{2066}'..='\u{2068}' => open.push(at),
            '\u{2069}' => {
                if let Some(start) = open.pop() {
                    paired.extend([start, at]);
                }
            }
            _ => {}
        }
    }
    paired.sort_unstable();
    paired
}
