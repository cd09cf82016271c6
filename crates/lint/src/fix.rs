//! Edits of a file that take a finding away.

use headwater_text::Span;

use crate::fix_rule::Safety;

/// What has to be edited so that a finding is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// Whether it may be applied without being looked at.
    pub safety: Safety,
    /// What it does, as an order: `delete the byte order mark`. Safe to print.
    pub title: String,
    /// The edits, in order of the file; none overlaps another. All or none are applied.
    pub edits: Vec<Edit>,
}

/// One piece of a file that is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced, in bytes of the file; empty to insert.
    pub span: Span,
    /// What stands there afterwards, written as the file's notation wants it.
    pub replacement: String,
}
