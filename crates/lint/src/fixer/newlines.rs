//! Ends of lines and of the file.

use headwater_template::Template;
use headwater_text::Span;

use super::{Change, Plan};
use crate::newlines::{endings, usual};

/// Ends every line with LF.
pub(super) fn normalize(template: &Template) -> Plan {
    let text = template.source().text();
    let odd = endings(text)
        .into_iter()
        .filter(|(span, _)| &text[span.start..span.end] != "\n");
    let changes = odd.map(|(span, _)| Change::new(span, "\n")).collect();
    ("end every line with LF", changes)
}

/// Deletes spaces and tabs at ends of lines inside the span.
pub(super) fn trim(template: &Template, span: Span) -> Option<Plan> {
    let text = template.source().text();
    let mut changes = Vec::new();
    let mut at = span.start;
    while at < span.end {
        let line_end = text[at..].find(['\r', '\n']).map_or(text.len(), |n| at + n);
        let kept = text[at..line_end].trim_end_matches([' ', '\t']).len();
        // A line may begin with the spaces of the span and go on with words.
        if kept == 0 || line_end <= span.end {
            changes.push(Change::delete(Span::new(at + kept, line_end)));
        }
        at = line_end + 1;
    }
    changes.retain(|change| change.span.start < change.span.end);
    (!changes.is_empty()).then_some(("delete the spaces at the end of the line", changes))
}

/// Ends the text as its other lines end.
pub(super) fn add_final(template: &Template) -> Option<Plan> {
    let text = template.source().text();
    let end = text.len();
    let missing = end > 0 && !text.ends_with(['\n', '\r']);
    missing.then(|| {
        let change = Change::new(Span::new(end, end), usual(text));
        ("end the last line", vec![change])
    })
}
