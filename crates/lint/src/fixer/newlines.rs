//! Ends of lines and of the file.

use headwater_template::Template;
use headwater_text::Span;

use super::{Change, Plan};
use crate::line_ends::{endings, trailing_spaces, usual};

/// Ends every line with LF.
pub(super) fn normalize(template: &Template) -> Plan {
    let text = template.source().text();
    let odd = endings(text)
        .into_iter()
        .filter(|(span, _)| &text[span.start..span.end] != "\n");
    let changes = odd.map(|(span, _)| Change::new(span, "\n")).collect();
    ("end every line with LF", changes)
}

/// Deletes spaces and tabs at ends of lines, everywhere: the rule reports the first place only.
pub(super) fn trim(template: &Template) -> Plan {
    let spans = trailing_spaces(template).into_iter();
    let title = "delete the spaces at ends of lines";
    (title, spans.map(Change::delete).collect())
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
