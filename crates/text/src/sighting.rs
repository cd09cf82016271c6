//! What was seen: a character of the table, where it stands, and what its context says to do.

use std::fmt;

use crate::{Position, Span, name};

/// The kind of a character of the table. Characters of one class share one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// CR, CRLF, NEL and the Unicode line and paragraph separators.
    Newline,
    /// The byte order mark, wherever it stands.
    Bom,
    /// Zero-width space and word joiner: hints for breaking lines.
    ZeroWidth,
    /// Zero-width non-joiner: shapes Persian, Urdu, Kurdish and Indic words.
    NonJoiner,
    /// Zero-width joiner: glues emoji, shapes Indic and Arabic letters.
    Joiner,
    /// Variation selectors: choose a glyph for the character before them.
    VariationSelector,
    /// Direction hints: left-to-right, right-to-left and Arabic letter mark.
    BidiMark,
    /// Embeddings and overrides: can show text in another order than it is read.
    BidiOverride,
    /// Isolates and their end.
    BidiIsolate,
    /// Deprecated format characters.
    DeprecatedFormat,
    /// Invisible operators of mathematics.
    InvisibleMath,
    /// The hint for hyphenation.
    SoftHyphen,
    /// The combining grapheme joiner.
    GraphemeJoiner,
    /// Letters of Hangul that look like nothing.
    HangulFiller,
    /// The Mongolian vowel separator.
    MongolianSeparator,
    /// Inherent vowels of Khmer, deprecated.
    KhmerVowel,
    /// The Braille cell without dots.
    BrailleBlank,
    /// Invisible copies of ASCII: sense only in flags of subdivisions.
    Tag,
    /// Marks around interlinear annotations.
    Annotation,
    /// Object replacement and replacement character: data was lost.
    LostData,
    /// Code points that never are characters, or that are reserved to be invisible.
    Noncharacter,
    /// Private use: means something with the right font only.
    PrivateUse,
    /// Format characters of musical, shorthand and Egyptian notation.
    NotationFormat,
    /// Format characters that are visible and belong to a number or a verse.
    PrependedMark,
    /// NUL and ESC: can end a string early or drive a terminal.
    DangerousControl,
    /// The other C0 and C1 controls.
    Control,
    /// The tabulator.
    Tab,
    /// Spaces other than U+0020.
    Space,
    /// Curly quotation marks, dashes and the ellipsis: visible, listed for information.
    Typography,
}

impl Class {
    /// The class in lower-case words joined by underscores.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Newline => "newline",
            Self::Bom => "bom",
            Self::ZeroWidth => "zero_width",
            Self::NonJoiner => "non_joiner",
            Self::Joiner => "joiner",
            Self::VariationSelector => "variation_selector",
            Self::BidiMark => "bidi_mark",
            Self::BidiOverride => "bidi_override",
            Self::BidiIsolate => "bidi_isolate",
            Self::DeprecatedFormat => "deprecated_format",
            Self::InvisibleMath => "invisible_math",
            Self::SoftHyphen => "soft_hyphen",
            Self::GraphemeJoiner => "grapheme_joiner",
            Self::HangulFiller => "hangul_filler",
            Self::MongolianSeparator => "mongolian_separator",
            Self::KhmerVowel => "khmer_vowel",
            Self::BrailleBlank => "braille_blank",
            Self::Tag => "tag",
            Self::Annotation => "annotation",
            Self::LostData => "lost_data",
            Self::Noncharacter => "noncharacter",
            Self::PrivateUse => "private_use",
            Self::NotationFormat => "notation_format",
            Self::PrependedMark => "prepended_mark",
            Self::DangerousControl => "dangerous_control",
            Self::Control => "control",
            Self::Tab => "tab",
            Self::Space => "space",
            Self::Typography => "typography",
        }
    }
}

/// What to do with a character, or what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Its context gives it a meaning: it stays.
    Keep,
    /// It goes.
    Remove,
    /// It becomes this text.
    Replace(&'static str),
    /// This text was added where nothing stood (in a [`Change`](crate::Change) only).
    Insert(&'static str),
    /// It was brought into form NFC (in a [`Change`](crate::Change) only).
    Normalize,
    /// It stays, and somebody should look at it.
    Warn,
    /// It must not be there.
    Error,
    /// It stays, and is mentioned.
    Info,
}

impl Action {
    /// The action as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Remove => "remove",
            Self::Replace(_) => "replace",
            Self::Insert(_) => "insert",
            Self::Normalize => "normalize",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Info => "info",
        }
    }
}

/// How far an automatic change of a character can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Safety {
    /// A reader cannot tell the texts apart.
    Safe,
    /// Right nearly always, and able to change what is read.
    Unsafe,
    /// Nobody but the author can say what was meant.
    NoFix,
}

impl Safety {
    /// The safety as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Unsafe => "unsafe",
            Self::NoFix => "no_fix",
        }
    }
}

/// One character of the table in a text, with the decision of its context.
///
/// Displays as `line:column: ⟨U+200B⟩ ZERO WIDTH SPACE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sighting {
    /// The bytes of the text; two characters for CRLF.
    pub span: Span,
    /// The same place for people.
    pub position: Position,
    /// The character.
    pub code_point: char,
    /// Its class.
    pub class: Class,
    /// What the context says to do.
    pub action: Action,
    /// How far that can be trusted without a person.
    pub safety: Safety,
}

impl Sighting {
    /// The text that an automatic fix puts in the place of [`span`](Self::span), if there is one.
    #[must_use]
    pub fn fix(&self) -> Option<&'static str> {
        match (self.action, self.safety) {
            (_, Safety::NoFix) => None,
            (Action::Remove | Action::Error, _) => Some(""),
            (Action::Replace(with), _) => Some(with),
            _ => None,
        }
    }
}

impl fmt::Display for Sighting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = u32::from(self.code_point);
        write!(
            f,
            "{}: ⟨U+{code:04X}⟩ {}",
            self.position,
            name(self.code_point)
        )
    }
}
