//! Cuts a source into static text and tags by their delimiters alone, without understanding a tag.
//!
//! The bytes of static text are exactly those of the source; a Jinja parser has already trimmed them.

use headwater_text::Span;

use crate::problem::Problem;

/// A stretch of source, in order, without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) kind: MarkKind,
    pub(crate) span: Span,
}

/// What a stretch of source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkKind {
    Text,
    /// `{{ … }}`
    Output,
    /// `{% … %}`
    Statement,
    /// `{# … #}`
    Comment,
}

/// Cuts `text` from `start` on.
pub(crate) fn scan(text: &str, start: usize, problems: &mut Vec<Problem>) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut at = start;
    while let Some((kind, open)) = next_opening(text, at) {
        push_text(&mut marks, at, open);
        let Some(close) = closing(text, kind, open) else {
            let span = Span {
                start: open,
                end: open + 2,
            };
            problems.push(Problem::new(
                span,
                format!(
                    "this {} is never closed; expected `{}`",
                    name(kind),
                    end_mark(kind)
                ),
            ));
            return marks;
        };
        let span = Span {
            start: open,
            end: close,
        };
        marks.push(Mark { kind, span });
        at = close;
        if kind == MarkKind::Statement && keyword(&text[open..close]) == "raw" {
            let Some((body_end, raw_end)) = end_of_raw(text, close) else {
                problems.push(Problem::new(
                    span,
                    "`raw` is never closed; add `{% endraw %}`",
                ));
                return marks;
            };
            push_text(&mut marks, close, body_end);
            let span = Span {
                start: body_end,
                end: raw_end,
            };
            marks.push(Mark { kind, span });
            at = raw_end;
        }
    }
    push_text(&mut marks, at, text.len());
    marks
}

/// The first word of a statement tag: `for`, `endif` …
pub(crate) fn keyword(tag: &str) -> &str {
    let inner = inner(tag);
    let end = inner
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(inner.len());
    &inner[..end]
}

/// What stands between the delimiters, without trim marks and white space.
pub(crate) fn inner(tag: &str) -> &str {
    let inner = tag.get(2..tag.len().saturating_sub(2)).unwrap_or_default();
    inner
        .strip_prefix(['-', '+'])
        .unwrap_or(inner)
        .trim_end_matches(['-', '+'])
        .trim()
}

fn push_text(marks: &mut Vec<Mark>, start: usize, end: usize) {
    if start < end {
        marks.push(Mark {
            kind: MarkKind::Text,
            span: Span { start, end },
        });
    }
}

fn name(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Comment => "comment",
        _ => "tag",
    }
}

fn end_mark(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Comment => "#}",
        MarkKind::Statement => "%}",
        MarkKind::Output | MarkKind::Text => "}}",
    }
}

fn next_opening(text: &str, from: usize) -> Option<(MarkKind, usize)> {
    let bytes = text.as_bytes();
    let braces = memchr::memchr_iter(b'{', bytes.get(from..)?);
    braces
        .map(|at| from + at)
        .find_map(|at| match bytes.get(at + 1)? {
            b'{' => Some((MarkKind::Output, at)),
            b'%' => Some((MarkKind::Statement, at)),
            b'#' => Some((MarkKind::Comment, at)),
            _ => None,
        })
}

/// The end of the tag that opens at `open`; strings and brackets inside it are skipped.
fn closing(text: &str, kind: MarkKind, open: usize) -> Option<usize> {
    if kind == MarkKind::Comment {
        return text[open + 2..].find("#}").map(|at| open + 2 + at + 2);
    }
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut quote = None;
    let mut at = open + 2;
    while at < bytes.len() {
        let byte = bytes[at];
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(mark), _) if byte == mark => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b'%') if kind == MarkKind::Statement && bytes.get(at + 1) == Some(&b'}') => {
                return Some(at + 2);
            }
            (None, b'}')
                if depth == 0 && kind == MarkKind::Output && bytes.get(at + 1) == Some(&b'}') =>
            {
                return Some(at + 2);
            }
            (None, b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
        at += 1;
    }
    None
}

/// Start and end of the `{% endraw %}` after `from`.
fn end_of_raw(text: &str, from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    loop {
        let open = at + text[at..].find("{%")?;
        let close = open + text[open..].find("%}")? + 2;
        if keyword(&text[open..close]) == "endraw" {
            return Some((open, close));
        }
        at = open + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(MarkKind, &str)]) {
        let mut problems = Vec::new();
        let marks: Vec<_> = scan(text, 0, &mut problems)
            .into_iter()
            .map(|mark| (mark.kind, &text[mark.span.start..mark.span.end]))
            .collect();
        assert_eq!(marks, expected, "{text}");
        assert_eq!(problems, []);
    }

    #[test]
    fn tags_and_text() {
        use MarkKind::{Comment, Output, Statement, Text};
        check("", &[]);
        check("a{b", &[(Text, "a{b")]);
        check(
            "a {{ x }} b",
            &[(Text, "a "), (Output, "{{ x }}"), (Text, " b")],
        );
        check("{{ {'a': 1}}}", &[(Output, "{{ {'a': 1}}}")]);
        check(r#"{{ "}}" }}"#, &[(Output, r#"{{ "}}" }}"#)]);
        check("{# {{ x }} #}y", &[(Comment, "{# {{ x }} #}"), (Text, "y")]);
        check("{%- if x -%}", &[(Statement, "{%- if x -%}")]);
        check(
            "{% raw %}{{ x }}{% endraw %}",
            &[
                (Statement, "{% raw %}"),
                (Text, "{{ x }}"),
                (Statement, "{% endraw %}"),
            ],
        );
    }

    #[test]
    fn an_open_tag_is_a_problem() {
        let check = |text, start, expected| {
            let mut problems = Vec::new();
            scan(text, 0, &mut problems);
            assert_eq!(problems.len(), 1, "{text}");
            assert_eq!(problems[0].span.start, start);
            assert_eq!(problems[0].message, expected);
        };
        check("ab {{ x", 3, "this tag is never closed; expected `}}`");
        check("{# x", 0, "this comment is never closed; expected `#}`");
        check(
            "{% raw %} x",
            0,
            "`raw` is never closed; add `{% endraw %}`",
        );
    }
}
