//! Why a text is not canonical JSON: the kind, the place, and what to do about it.

use std::fmt;

use headwater_text::{LineTable, Position, shown};

/// Why a JSON text was refused. Of the text it shows keys, in its pointer, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonError {
    /// What is wrong.
    pub kind: JsonErrorKind,
    /// The value it is wrong with, as an RFC 6901 pointer; empty for the whole document. What is
    /// wrong inside a key or between two members points at the object.
    pub pointer: String,
    /// Byte offset in the text.
    pub byte: usize,
    /// Line and column of that byte.
    pub position: Position,
}

/// The closed set of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// More than [`MAX_BYTES`](super::MAX_BYTES).
    TooLarge,
    /// More than [`MAX_DEPTH`](super::MAX_DEPTH) lists and objects inside each other.
    TooDeep,
    /// A byte order mark before the value.
    ByteOrderMark,
    /// The text ends before the value does.
    UnexpectedEnd,
    /// A character that begins no value.
    ExpectedValue,
    /// Something other than a string where a key has to stand.
    ExpectedKey,
    /// No colon after a key.
    ExpectedColon,
    /// Neither a comma nor the end of the list or object.
    ExpectedComma,
    /// A comma with nothing behind it.
    TrailingComma,
    /// Something after the value.
    TrailingData,
    /// A string in single quotes.
    SingleQuote,
    /// A string without its closing quote.
    UnterminatedString,
    /// A control character that is not escaped.
    ControlCharacter,
    /// A backslash that begins no escape of JSON.
    BadEscape,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// Digits that are no number of JSON.
    BadNumber,
    /// `NaN` or an infinity.
    NotFinite,
    /// A word other than `true`, `false` and `null`.
    BadWord,
    /// A key for the second time in one object.
    DuplicateKey,
    /// Tools that are not a list.
    NotAList,
    /// A tool that has neither a name nor a type to sort it by.
    UnnamedTool,
    /// A tool with the name of an earlier one.
    DuplicateTool,
}

impl JsonErrorKind {
    /// A short name that stays the same, for a machine.
    pub fn as_str(self) -> &'static str {
        self.name_and_problem().0
    }

    /// What is wrong, and the next step.
    pub fn problem(self) -> &'static str {
        self.name_and_problem().1
    }

    /// One table, so that a new kind cannot have one without the other.
    fn name_and_problem(self) -> (&'static str, &'static str) {
        match self {
            Self::TooLarge => (
                "too_large",
                "the text is over 16 MiB; split it into several documents",
            ),
            Self::TooDeep => (
                "too_deep",
                "more than 128 lists and objects are inside each other; flatten the value, or send \
                 this part as a string",
            ),
            Self::ByteOrderMark => (
                "byte_order_mark",
                "the text starts with a byte order mark; write the file as UTF-8 without one",
            ),
            Self::UnexpectedEnd => (
                "unexpected_end",
                "the text ends before the value does; look for a missing bracket, or for a limit \
                 that cut the text off",
            ),
            Self::ExpectedValue => (
                "expected_value",
                "no value begins with this character; put a string, a number, a list, an object, \
                 `true`, `false` or `null` here",
            ),
            Self::ExpectedKey => (
                "expected_key",
                "a key has to stand here; write it as a string in double quotes",
            ),
            Self::ExpectedColon => (
                "expected_colon",
                "no colon follows the key; put `:` between the key and its value",
            ),
            Self::ExpectedComma => (
                "expected_comma",
                "neither a comma nor the closing bracket follows the value; add the one that is \
                 missing",
            ),
            Self::TrailingComma => ("trailing_comma", "nothing follows this comma; delete it"),
            Self::TrailingData => (
                "trailing_data",
                "something follows the value; send one value a text, several as a list",
            ),
            Self::SingleQuote => (
                "single_quote",
                "a string starts with a single quote; use double quotes, in Python by \
                 `json.dumps` in place of `str`",
            ),
            Self::UnterminatedString => (
                "unterminated_string",
                "the string that starts here has no end; close it, and escape quotes inside it as \
                 `\\\"`",
            ),
            Self::ControlCharacter => (
                "control_character",
                "a control character stands in a string; escape it, a line break as `\\n`",
            ),
            Self::BadEscape => (
                "bad_escape",
                "this backslash begins no escape; write a backslash as `\\\\`, and a code point as \
                 `\\u` with four hexadecimal digits",
            ),
            Self::LoneSurrogate => (
                "lone_surrogate",
                "half of a surrogate pair is no character; cut text between characters, not \
                 between UTF-16 units",
            ),
            Self::BadNumber => (
                "bad_number",
                "JSON has no such number; write it without `+`, leading zeros or separators, with \
                 digits on both sides of the point",
            ),
            Self::NotFinite => (
                "not_finite",
                "JSON has neither NaN nor infinities; send `null`, or leave the key out",
            ),
            Self::BadWord => (
                "bad_word",
                "JSON has no such word; write `true`, `false`, `null`, or a string in double quotes",
            ),
            Self::DuplicateKey => (
                "duplicate_key",
                "the object has this key already, and readers differ in which one they take; \
                 delete or rename one",
            ),
            Self::NotAList => (
                "not_a_list",
                "tools have to be a list; put the tool between `[` and `]`",
            ),
            Self::UnnamedTool => (
                "unnamed_tool",
                "the tool has neither a name nor a type to sort it by; name it, or keep the \
                 list in the order as given",
            ),
            Self::DuplicateTool => (
                "duplicate_tool",
                "an earlier tool has this name, and a model cannot tell them apart; delete or \
                 rename one",
            ),
        }
    }
}

/// At most so many characters of a pointer are printed.
const SHOWN_CHARACTERS: usize = 160;

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() {
            // Keys are foreign text: nothing invisible, and not a page of it.
            let whole = shown(&self.pointer);
            let start: String = whole.chars().take(SHOWN_CHARACTERS).collect();
            let cut = if start.len() < whole.len() { "…" } else { "" };
            write!(f, "`{start}{cut}`, ")?;
        }
        let Position { line, column } = self.position;
        write!(
            f,
            "line {line}, column {column} (byte {}): {}",
            self.byte,
            self.kind.problem()
        )
    }
}

impl std::error::Error for JsonError {}

/// An error on its way out of the reader: it learns its pointer from the inside to the outside,
/// so that reading a good text keeps no path.
#[derive(Debug)]
pub(super) struct Fault {
    kind: JsonErrorKind,
    byte: usize,
    /// Keys and indices, the innermost first.
    steps: Vec<String>,
}

impl Fault {
    pub(super) fn new(kind: JsonErrorKind, byte: usize) -> Self {
        Self {
            kind,
            byte,
            steps: Vec::new(),
        }
    }

    /// The fault is in the element or member that `step` names.
    pub(super) fn inside(mut self, step: impl fmt::Display) -> Self {
        self.steps.push(step.to_string());
        self
    }

    pub(super) fn place_in(self, text: &str) -> JsonError {
        let pointer = self.steps.iter().rev().fold(String::new(), |path, step| {
            path + "/" + &step.replace('~', "~0").replace('/', "~1")
        });
        JsonError {
            kind: self.kind,
            pointer,
            byte: self.byte,
            position: LineTable::new(text).position(self.byte),
        }
    }
}
