//! Maps that are written out in the order of their keys.

use headwater_template::{Dialect, Template};
use headwater_text::Span;

use super::{Change, Plan};

/// `tools.items()` becomes `tools | dictsort`.
pub(super) fn dictsort(template: &Template, span: Span) -> Option<Plan> {
    if template.dialect() != Dialect::Jinja {
        return None;
    }
    let text = template.source().text();
    let call = text.get(span.start..span.end)?;
    let receiver = call.strip_suffix(')')?.trim_end().strip_suffix('(')?;
    let receiver = receiver.trim_end().strip_suffix("items")?.trim_end();
    let receiver = receiver.strip_suffix('.')?.trim_end();
    // An index or another call would apply to the filter's name.
    if receiver.is_empty() || text[span.end..].trim_start().starts_with(['[', '.', '(']) {
        return None;
    }
    let change = Change::new(
        Span::new(span.start + receiver.len(), span.end),
        " | dictsort",
    );
    Some(("go through the map in the order of its keys", vec![change]))
}

/// `tojson` and `tojson(indent=2)` get the argument `sort_keys=true`.
pub(super) fn sort_keys(template: &Template, span: Span) -> Option<Plan> {
    if template.dialect() != Dialect::Jinja {
        return None;
    }
    let text = template.source().text();
    // The span may end at the filter's name or behind its arguments.
    let is_name = |c: char| c.is_alphanumeric() || ['_', '.'].contains(&c);
    let tail = text.get(span.start..)?;
    let spaces = tail.len() - tail.trim_start_matches(['|', ' ', '\t', '\n']).len();
    let name_end = span.start + spaces + tail[spaces..].find(|c| !is_name(c)).unwrap_or(tail.len());
    let title = "sort the keys";
    let has_arguments = text[name_end..].starts_with('(');
    if !has_arguments {
        let at = Span::new(name_end, name_end);
        return Some((title, vec![Change::new(at, "(sort_keys=true)")]));
    }
    let close = closing(text, name_end)?;
    let arguments = text[name_end + 1..close].trim();
    if arguments.contains("sort_keys") {
        return None;
    }
    let with = match arguments.trim_end_matches(',') {
        "" => "sort_keys=true".to_owned(),
        arguments => format!("{arguments}, sort_keys=true"),
    };
    let inside = Span::new(name_end + 1, close);
    Some((title, vec![Change::new(inside, with)]))
}

/// The bracket that closes the one at `open`.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut escaped = false;
    for (offset, c) in text[open..].char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(open + offset);
                }
            }
            (None, _) => {}
        }
    }
    None
}
