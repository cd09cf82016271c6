//! A line with a volatile value moves behind the last static text.

use headwater_template::{MIN_PROSE_BYTES, Piece, PieceKind, Template};
use headwater_text::Span;

use super::{Change, Plan};
use crate::line_ends::usual;

/// Moves the line of the value, if it stands outside of all blocks and so does the place behind the
/// last prose, and no message ends between them.
pub(super) fn move_line(template: &Template, value: Span) -> Option<Plan> {
    if !template.parts().is_empty() {
        return None;
    }
    let text = template.source().text();
    let tag = output_around(template, value)?;
    let line = line_around(text, tag);
    let target = target(template, line)?;
    let tags = statements(template);
    let on_line = |span: &Span| span.start < line.end && line.start < span.end;
    let between = Span::new(line.end, target);
    let is_free = !tags.iter().any(on_line)
        && depth(text, &tags, line.start) == 0
        && depth(text, &tags, target) == 0
        && !tags
            .iter()
            .any(|tag| tag.start < target && target < tag.end)
        && !sets_again(text, &tags, between, &text[tag.start..tag.end])
        && speaker(template, line.start) == speaker(template, target.saturating_sub(1))
        && !text[line.start..target].contains("<|");
    if !is_free {
        return None;
    }
    let newline = usual(text);
    let mut moved = own_line(text, line, tag, newline);
    if target == text.len() && !text.ends_with(['\n', '\r']) {
        moved = format!("{newline}{}", moved.trim_end_matches(['\n', '\r']));
    }
    let changes = vec![
        Change::delete(line),
        Change::new(Span::new(target, target), moved),
    ];
    Some(("move the line behind the last static text", changes))
}

fn output_around(template: &Template, value: Span) -> Option<Span> {
    let holds = |tag: &&Span| tag.start <= value.start && value.end <= tag.end;
    template.outputs().iter().find(holds).copied()
}

/// The lines on which the span stands, with the last one's end.
fn line_around(text: &str, span: Span) -> Span {
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[span.end..]
        .find('\n')
        .map_or(text.len(), |at| span.end + at + 1);
    Span::new(start, end)
}

/// Behind the line on which the last prose ends.
fn target(template: &Template, line: Span) -> Option<usize> {
    let text = template.source().text();
    let is_prose = |piece: &&Piece| {
        matches!(piece.kind, PieceKind::Text)
            && piece.from.is_none()
            && piece.span.end > line.end
            && text[piece.span.start.max(line.end)..piece.span.end]
                .trim()
                .len()
                >= MIN_PROSE_BYTES
    };
    let last = template.pieces().iter().rfind(is_prose)?;
    let prose = text[..last.span.end].trim_end().len();
    let end = text[prose..]
        .find('\n')
        .map_or(text.len(), |at| prose + at + 1);
    (end > line.end).then_some(end)
}

/// The tags that are neither text nor output nor comment.
fn statements(template: &Template) -> Vec<Span> {
    let mut known: Vec<Span> = template.texts().to_vec();
    known.extend_from_slice(template.outputs());
    known.extend(template.comments().iter().map(|comment| comment.span));
    known.sort();
    let mut at = template.body_start();
    let mut rest = Vec::new();
    for span in known {
        if at < span.start {
            rest.push(Span::new(at, span.start));
        }
        at = at.max(span.end);
    }
    let end = template.source().text().len();
    if at < end {
        rest.push(Span::new(at, end));
    }
    rest
}

/// How many blocks are open at an offset. Adjacent tags stand in one span.
fn depth(text: &str, tags: &[Span], offset: usize) -> usize {
    let mut depth = 0_usize;
    for tag in tags.iter().filter(|tag| tag.start < offset) {
        for (keyword, inner) in keywords(&text[tag.start..tag.end]) {
            let is_block_set = keyword == "set" && !inner.contains('=');
            if keyword.starts_with("end") || keyword == "/" {
                depth = depth.saturating_sub(1);
            } else if is_block_set || opens(keyword) {
                depth += 1;
            }
        }
    }
    depth
}

fn opens(keyword: &str) -> bool {
    !matches!(
        keyword,
        "set"
            | "include"
            | "import"
            | "from"
            | "extends"
            | "do"
            | "else"
            | "elif"
            | "break"
            | "continue"
    )
}

/// The first word of every tag, and the tag's inside.
fn keywords(tags: &str) -> impl Iterator<Item = (&str, &str)> {
    tags.split("{%").skip(1).map(|tag| {
        let inner = tag.split("%}").next().unwrap_or(tag);
        let inner = inner.trim_start_matches(['-', '+']).trim();
        (inner.split_whitespace().next().unwrap_or(""), inner)
    })
}

/// A name that the moved tag reads gets another value on the way.
fn sets_again(text: &str, tags: &[Span], between: Span, moved: &str) -> bool {
    let on_the_way = tags
        .iter()
        .filter(|tag| between.start <= tag.start && tag.end <= between.end);
    on_the_way
        .flat_map(|tag| keywords(&text[tag.start..tag.end]))
        .filter(|(keyword, _)| *keyword == "set")
        .filter_map(|(_, inner)| {
            let name = inner.strip_prefix("set")?.trim_start();
            name.split(|c: char| !c.is_alphanumeric() && c != '_')
                .next()
        })
        .any(|name| !name.is_empty() && moved.contains(name))
}

/// Who speaks at an offset, as far as the template says.
fn speaker(template: &Template, offset: usize) -> Option<headwater_template::Role> {
    let covers = |piece: &&Piece| piece.span.start <= offset && offset < piece.span.end;
    template.pieces().iter().find(covers)?.role
}

/// The line as it stands at its new place, its value without a space in front.
fn own_line(text: &str, line: Span, tag: Span, newline: &str) -> String {
    let before = &text[line.start..tag.start];
    let behind = &text[tag.start..line.end];
    let label = before.trim_end_matches([' ', '\t']);
    let ends_line = text[tag.end..line.end].trim().is_empty();
    let glued = ends_line && !label.is_empty() && label.len() < before.len();
    let mut moved = if glued {
        format!("{label}{newline}{behind}")
    } else {
        format!("{before}{behind}")
    };
    if !moved.ends_with(['\n', '\r']) {
        moved.push_str(newline);
    }
    moved
}
