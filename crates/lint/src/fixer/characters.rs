//! Characters that are deleted or written in a plain way.

use headwater_template::Template;
use headwater_text::{Action, Span, inspect};

use super::{Change, Plan};
use crate::normalization;

/// What stands this far around a character decides whether it is meant. It bounds the work in files
/// with one long line.
const CONTEXT_BYTES: usize = 256;

/// Deletes or replaces the characters of the table inside the span.
pub(super) fn plain(template: &Template, span: Span) -> Option<Plan> {
    let text = template.source().text();
    let start = text.floor_char_boundary(span.start.saturating_sub(CONTEXT_BYTES));
    let end = text.ceil_char_boundary((span.end + CONTEXT_BYTES).min(text.len()));
    let mut changes = Vec::new();
    for seen in inspect(&text[start..end]) {
        let at = Span::new(start + seen.span.start, start + seen.span.end);
        if at.start < span.start || at.end > span.end {
            continue;
        }
        let with = match seen.action {
            Action::Keep | Action::Info => continue,
            Action::Replace(with) => with,
            _ => "",
        };
        changes.push(Change::new(at, with));
    }
    let replaces = changes.iter().any(|change| !change.with.is_empty());
    let title = match (replaces, changes.len()) {
        (_, 0) => return None,
        (false, 1) => "delete the character",
        (false, _) => "delete the characters",
        (true, 1) => "write a plain character",
        (true, _) => "write plain characters",
    };
    Some((title, changes))
}

/// Composes everything that is not in form NFC, in the whole template.
pub(super) fn compose(template: &Template) -> Option<Plan> {
    let spans = normalization::spans(template);
    let source = template.source();
    let changes = spans
        .into_iter()
        .map(|span| Change::new(span, normalization::composed(source.slice(span))));
    Some(("write the text in Unicode form NFC", changes.collect()))
}
