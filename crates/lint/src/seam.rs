//! The border between the static text and the first value behind it.

use std::collections::BTreeSet;

use headwater_template::{AtomKind, MIN_PROSE_BYTES, Piece, PieceKind, Template, Volatility};
use headwater_text::Span;

use crate::{finding::Finding, matcher::Matcher, names::Namer};

/// The smallest block in common use, in bytes: a lost token costs at most its block.
const BLOCK_BYTES: usize = 16 * 4;

/// At most one finding: only the first value after the static text decides about its last token.
///
/// A value in the middle of a sentence keeps its space; one that stands alone behind a label can
/// have a line of its own.
pub(crate) fn find(
    namer: &Namer<'_>,
    template: &Template,
    explained: &BTreeSet<usize>,
) -> Option<Finding> {
    let (rule, seam) = namer.rules.iter().find_map(|rule| match &rule.matcher {
        Matcher::Seam(seam) => Some((rule, seam)),
        _ => None,
    })?;
    let (index, piece) = first_value(template)?;
    let ends_static_text = piece.in_last_turn || piece.prose_bytes_after < MIN_PROSE_BYTES;
    if explained.contains(&index) || !ends_static_text {
        return None;
    }
    let tag = *template
        .outputs()
        .iter()
        .find(|tag| tag.start <= piece.span.start && piece.span.end <= tag.end)?;
    let text = template.source().text();
    let rest = text[tag.end..].trim_start_matches([' ', '\t']);
    let ends_line = rest.is_empty() || rest.starts_with(['\n', '\r']);
    let trims = text[tag.start..].starts_with("{{-");
    let space = spaces(text, tag.start, &seam.before);
    if space.start == space.end || !ends_line || trims {
        return None;
    }
    let PieceKind::Value(value) = &piece.kind else {
        return None;
    };
    let class = namer.classify(value).map(|(rule, _)| &rule.id);
    if class.is_some_and(|class| seam.begins_with_digit.contains(class)) {
        return None;
    }
    let name = value
        .atoms
        .iter()
        .find(|atom| atom.kind == AtomKind::Variable);
    let name = name.map_or("the value", |atom| atom.path.as_str());
    let cost = BLOCK_BYTES.min(static_bytes_before(template, tag.start));
    Some(Finding::new(rule, template, space, cost).with("name", name))
}

/// The first value that is not the same in every request.
fn first_value(template: &Template) -> Option<(usize, &Piece)> {
    template
        .pieces()
        .iter()
        .enumerate()
        .find(|(_, piece)| match &piece.kind {
            PieceKind::Value(value) => {
                let is_static = |atom| template.volatility(atom) == Some(Volatility::Static);
                !value.atoms.iter().all(is_static)
            }
            PieceKind::Loop(_) => true,
            _ => false,
        })
}

/// The white space that ends at `end`, on its line.
fn spaces(text: &str, end: usize, before: &[char]) -> Span {
    let start = text[..end].trim_end_matches(before).len();
    // White space alone on a line is indentation.
    let indentation = text[..start].is_empty() || text[..start].ends_with(['\n', '\r']);
    Span {
        start: if indentation { end } else { start },
        end,
    }
}

fn static_bytes_before(template: &Template, offset: usize) -> usize {
    template
        .texts()
        .iter()
        .map(|text| text.end.min(offset).saturating_sub(text.start))
        .sum()
}
