//! What a rule says about its fix: which kind of edit, and whether the model then reads the same.

use crate::rule_file::{self, FileError, FixFile};

/// The fix of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixRule {
    /// How the edit is made.
    pub kind: FixKind,
    /// Whether it may be applied without being looked at.
    pub safety: Safety,
}

/// Whether a fix keeps what the model is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Safety {
    /// The model reads the same words: applied by `--fix`.
    Safe,
    /// Somebody should look at it: applied by `--unsafe-fixes` only.
    Unsafe,
}

impl Safety {
    /// `safe` or `unsafe`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Unsafe => "unsafe",
        }
    }

    /// The safety of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Safe, Self::Unsafe]
            .into_iter()
            .find(|safety| safety.as_str() == name)
    }
}

/// Kinds of edits. Closed: each is made by the fixer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FixKind {
    /// Deletes the characters found.
    RemoveCharacters,
    /// Puts plain ones in the place of the characters found.
    ReplaceCharacters,
    /// Ends every line of the file with LF.
    NormalizeNewlines,
    /// Deletes the byte order mark.
    RemoveByteOrderMark,
    /// Deletes spaces and tabs at ends of lines.
    TrimTrailingSpace,
    /// Ends the file with one LF.
    AddFinalNewline,
    /// Writes the text in form NFC.
    NormalizeNfc,
    /// Puts `| dictsort` in the place of `.items()`.
    AddFilterDictsort,
    /// Puts `sort_keys=true` into the call.
    AddSortKeys,
    /// Moves the line of the value behind the last static text.
    MoveToEnd,
    /// Deletes the comment that suppresses nothing.
    RemoveSuppression,
    /// Sorts the keys of a JSON literal.
    SortJsonKeys,
}

impl FixKind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::RemoveCharacters,
        Self::ReplaceCharacters,
        Self::NormalizeNewlines,
        Self::RemoveByteOrderMark,
        Self::TrimTrailingSpace,
        Self::AddFinalNewline,
        Self::NormalizeNfc,
        Self::AddFilterDictsort,
        Self::AddSortKeys,
        Self::MoveToEnd,
        Self::RemoveSuppression,
        Self::SortJsonKeys,
    ];

    /// Its name in a rule's file, such as `remove-characters`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RemoveCharacters => "remove-characters",
            Self::ReplaceCharacters => "replace-characters",
            Self::NormalizeNewlines => "normalize-newlines",
            Self::RemoveByteOrderMark => "remove-byte-order-mark",
            Self::TrimTrailingSpace => "trim-trailing-space",
            Self::AddFinalNewline => "add-final-newline",
            Self::NormalizeNfc => "normalize-nfc",
            Self::AddFilterDictsort => "add-filter-dictsort",
            Self::AddSortKeys => "add-sort-keys",
            Self::MoveToEnd => "move-to-end",
            Self::RemoveSuppression => "remove-suppression",
            Self::SortJsonKeys => "sort-json-keys",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl FixRule {
    pub(crate) fn check(file: &FixFile, yaml: &str, origin: &str) -> Result<Self, FileError> {
        let error = |needle: &str, message: String| rule_file::at(yaml, origin, needle, message);
        let kind = FixKind::from_name(&file.kind).ok_or_else(|| {
            let names = FixKind::ALL.map(FixKind::as_str).join("`, `");
            error(&file.kind, format!("fix.kind: expected one of `{names}`"))
        })?;
        let safety = Safety::from_name(&file.safety).ok_or_else(|| {
            error(
                "safety:",
                "fix.safety: expected `safe` or `unsafe`".to_owned(),
            )
        })?;
        Ok(Self { kind, safety })
    }
}
