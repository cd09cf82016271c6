//! A YAML block scalar, line by line. What the parser read tells what indentation and folding were.

use headwater_text::Span;

use super::value::{Style, Text};
use crate::{notation::Notation, offset_map::Decoder};

/// Decodes the lines of a block, which begin at byte `base` of the file. What does not fit what the
/// parser read is left out.
pub(crate) fn decode(raw: &str, base: usize, text: &Text<'_>, decoder: &mut Decoder) {
    let lines = lines(raw, base);
    let Some(indent) = indent(&lines, &text.value) else {
        return;
    };
    match text.style {
        Style::YamlLiteral => {
            decoder.begin(Notation::YamlLiteral { indent });
            literal(&lines, indent, &text.value, decoder);
        }
        _ => {
            decoder.begin(Notation::YamlFolded);
            folded(&lines, indent, &text.value, decoder);
        }
    }
}

/// A line of the file.
struct Line<'r> {
    content: &'r str,
    at: usize,
    /// Its end, in the file.
    line_end: Span,
}

fn lines(raw: &str, base: usize) -> Vec<Line<'_>> {
    let mut at = base;
    raw.split_inclusive('\n')
        .map(|line| {
            let content = line.trim_end_matches(['\n', '\r']);
            let start = at;
            at += line.len();
            Line {
                content,
                at: start,
                line_end: Span::new(start + content.len(), at),
            }
        })
        .collect()
}

/// Spaces before the first line that is not empty.
fn indent(lines: &[Line<'_>], value: &str) -> Option<usize> {
    let first = lines.iter().find(|line| !is_blank(line))?;
    let said = value.trim_start_matches('\n').split('\n').next()?;
    // A line may be longer than what it says only by its indentation, unless lines are folded.
    let spaces = first.content.len() - first.content.trim_start_matches(' ').len();
    (0..=spaces)
        .rev()
        .find(|indent| said.starts_with(&first.content[*indent..]))
}

fn is_blank(line: &Line<'_>) -> bool {
    line.content.trim_matches(' ').is_empty()
}

fn literal(lines: &[Line<'_>], indent: usize, value: &str, decoder: &mut Decoder) {
    let mut lines = lines.iter();
    for said in value.split_inclusive('\n') {
        let Some(line) = lines.next() else {
            return;
        };
        let content = said.strip_suffix('\n').unwrap_or(said);
        if !content.is_empty() {
            if line.content.get(indent..) != Some(content) {
                return;
            }
            decoder.copy(content, line.at + indent);
        }
        if said.ends_with('\n') {
            end_line(line, decoder);
        }
    }
}

fn end_line(line: &Line<'_>, decoder: &mut Decoder) {
    if line.line_end.end - line.line_end.start == 1 {
        decoder.copy("\n", line.line_end.start);
    } else {
        decoder.stand_for("\n", line.line_end);
    }
}

fn folded(lines: &[Line<'_>], indent: usize, value: &str, decoder: &mut Decoder) {
    let mut said = value;
    // Ends of lines since the last text.
    let mut ends: Vec<&Line<'_>> = Vec::new();
    let mut is_first = true;
    for line in lines {
        if is_blank(line) {
            ends.push(line);
            continue;
        }
        let Some(rest) = fold(&ends, is_first, said, decoder) else {
            return;
        };
        let Some(content) = line.content.get(indent..) else {
            return;
        };
        let Some(rest) = rest.strip_prefix(content) else {
            return;
        };
        decoder.copy(content, line.at + indent);
        said = rest;
        is_first = false;
        ends = vec![line];
    }
    for (line, _) in ends.iter().zip(said.chars()) {
        end_line(line, decoder);
    }
}

/// Writes what the ends of lines before a text stand for; gives what is said behind them.
fn fold<'v>(
    ends: &[&Line<'_>],
    is_first: bool,
    said: &'v str,
    decoder: &mut Decoder,
) -> Option<&'v str> {
    if ends.is_empty() {
        return Some(said);
    }
    if !is_first && ends.len() == 1 && said.starts_with(' ') {
        decoder.stand_for(" ", ends[0].line_end);
        return Some(&said[1..]);
    }
    let rest = said.trim_start_matches('\n');
    let breaks = said.len() - rest.len();
    let skipped = ends.len().checked_sub(breaks)?;
    if skipped > 1 {
        return None;
    }
    for line in &ends[skipped..] {
        end_line(line, decoder);
    }
    Some(rest)
}
