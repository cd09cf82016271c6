//! The steps of cleaning: each takes a draft, changes it, and says what it did. None of them
//! decides about a character of the table; that has been done.

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::draft::{Draft, Rewrite};
use crate::inspect::Verdict;
use crate::layout::{Layout, is_newline};
use crate::plain::odd;
use crate::position::Cursor;
use crate::{Action, Change, Class, Span, Step};

/// One change, before it has a line and a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit {
    pub(crate) step: Step,
    /// In the input.
    pub(crate) span: Span,
    pub(crate) code_point: Option<char>,
    pub(crate) action: Action,
    /// As in [`Change`].
    pub(crate) repeats: usize,
}

impl Edit {
    pub(crate) fn change(&self, cursor: &mut Cursor<'_>) -> Change {
        Change {
            step: self.step,
            span: self.span,
            position: cursor.position(self.span.start),
            code_point: self.code_point,
            action: self.action,
            repeats: self.repeats,
        }
    }
}

/// Carries out decisions about characters of the table, as far as `treatment` lets them.
pub(crate) fn apply(
    draft: &mut Draft<'_>,
    verdicts: &[Verdict],
    treatment: impl Fn(&Verdict) -> Action,
) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut next = Rewrite::new(draft);
    for verdict in verdicts {
        let action = treatment(verdict);
        let with = match action {
            Action::Remove => "",
            Action::Replace(with) => with,
            _ => continue,
        };
        edits.push(Edit {
            step: step_of(verdict.class),
            span: next.replace(verdict.at..verdict.at + verdict.length, with),
            code_point: Some(verdict.code_point),
            action,
            repeats: 0,
        });
    }
    if let Some(next) = next.finish() {
        *draft = next;
    }
    edits
}

/// The step that a change of a class is counted under.
fn step_of(class: Class) -> Step {
    match class {
        Class::Newline => Step::Newline,
        Class::Bom => Step::Bom,
        Class::Tag | Class::BidiOverride | Class::BidiIsolate | Class::DangerousControl => {
            Step::Dangerous
        }
        Class::Control => Step::Control,
        Class::Space => Step::Space,
        _ => Step::Invisible,
    }
}

/// Brings everything outside fenced code into form NFC.
pub(crate) fn normalize(draft: &mut Draft<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut next = Rewrite::new(draft);
    let text = draft.text();
    let mut layout = Layout::new(text);
    let mut done = 0;
    for (at, _) in odd(text).filter(|(_, c)| composes(*c)) {
        if at < done {
            continue;
        }
        let line = layout.line_at(at);
        if line.fenced {
            done = line.end;
            continue;
        }
        let base = text[line.start..at].chars().next_back();
        let start = at - base.map_or(0, char::len_utf8);
        done = cluster_end(text, at);
        if let Some(part) = composed(&text[start..done]) {
            let at = start + part.skipped;
            edits.push(Edit {
                step: Step::Nfc,
                span: next.replace(at..at + part.length, &part.composed),
                code_point: text[at..].chars().next(),
                action: Action::Normalize,
                repeats: 0,
            });
        }
    }
    if let Some(next) = next.finish() {
        *draft = next;
    }
    edits
}

/// Whether a character can compose with what is before it, or has another form by itself.
pub(crate) fn composes(c: char) -> bool {
    // Quotation marks, dashes and what is invisible among them.
    let is_common = c.is_ascii() || matches!(c, '\u{2002}'..='\u{206F}');
    !is_common
        && (canonical_combining_class(c) != 0
            || is_nfc_quick(std::iter::once(c)) != IsNormalized::Yes)
}

/// Where the next character stands that can never compose with what is before it.
fn cluster_end(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let border = rest.char_indices().find(|(_, c)| !composes(*c));
    border.map_or(text.len(), |(length, _)| start + length)
}

/// The part of a cluster that form NFC changes.
struct Composition {
    /// Bytes of the cluster before the part.
    skipped: usize,
    /// Bytes of the part.
    length: usize,
    /// What it becomes.
    composed: String,
}

/// What form NFC changes in a cluster, if anything.
fn composed(cluster: &str) -> Option<Composition> {
    if is_nfc_quick(cluster.chars()) == IsNormalized::Yes {
        return None;
    }
    let mut composed: String = cluster.nfc().collect();
    if composed == cluster {
        return None;
    }
    let skipped = common(cluster.chars(), composed.chars());
    let kept = common(
        cluster[skipped..].chars().rev(),
        composed[skipped..].chars().rev(),
    );
    composed.truncate(composed.len() - kept);
    composed.drain(..skipped);
    Some(Composition {
        skipped,
        length: cluster.len() - skipped - kept,
        composed,
    })
}

/// How many bytes the characters have that two sequences have in common from their start.
fn common(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .map(|(c, _)| c.len_utf8())
        .sum()
}

/// Takes spaces and tabs from the ends of lines outside fenced code.
///
/// All of them: also the two that make a hard break in Markdown. A prompt is read and not
/// rendered, and half of all editors take them away on saving; the canonical text must not
/// depend on who saved it last.
pub(crate) fn strip_line_ends(draft: &mut Draft<'_>) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut next = Rewrite::new(draft);
    let text = draft.text();
    let mut layout = Layout::new(text);
    let mut from = 0;
    // Where the next line begins, if this one lost nothing but spaces.
    let mut run = None;
    while let Some(end) = blank_end(text, from) {
        from = end;
        let line = layout.line_at(end - 1);
        if line.fenced {
            continue;
        }
        let words = text[line.start..end].trim_end_matches([' ', '\t']);
        let start = line.start + words.len();
        let span = next.replace(start..end, "");
        let is_spaces = text[start..end].bytes().all(|byte| byte == b' ');
        match edits.last_mut() {
            Some(first) if is_spaces && run == Some(line.start) => first.repeats += 1,
            _ => edits.push(Edit {
                span,
                ..removal(draft, Step::TrailingSpace, start, end - start)
            }),
        }
        run = is_spaces.then_some(end + 1);
    }
    if let Some(next) = next.finish() {
        *draft = next;
    }
    edits
}

/// Where the next line ends that has a space or a tab before its LF, or before the text's end.
fn blank_end(text: &str, from: usize) -> Option<usize> {
    const CHUNK: usize = 16;
    let bytes = text.as_bytes();
    let is_blank = |byte: u8| (byte == b' ') | (byte == b'\t');
    let mut at = from;
    // The chunk that ends where the next one begins, and the byte behind it.
    while let Some([chunk @ .., _]) = bytes.get(at..=at + CHUNK) {
        let behind = &bytes[at + 1..=at + CHUNK];
        let pairs = chunk.iter().zip(behind);
        let found = pairs.fold(false, |found, (byte, next)| {
            found | (is_blank(*byte) & (*next == b'\n'))
        });
        if found {
            break;
        }
        at += CHUNK;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let found = rest.iter().enumerate().find(|(index, byte)| {
        is_blank(**byte) && matches!(rest.get(index + 1), None | Some(b'\n'))
    });
    found.map(|(index, _)| at + index + 1)
}

/// Takes blank lines from the start; the indentation of the first line with words stays.
pub(crate) fn drop_leading_blank_lines(draft: &mut Draft<'_>) -> Vec<Edit> {
    let text = draft.text();
    let blank = text.len() - text.trim_start_matches(is_newline).len();
    if blank == 0 {
        return Vec::new();
    }
    let edit = removal(draft, Step::SegmentStart, 0, blank);
    let mut next = Rewrite::new(draft);
    next.replace(0..blank, "");
    if let Some(next) = next.finish() {
        *draft = next;
    }
    vec![edit]
}

/// Makes exactly one LF end the text; a text of nothing but blank lines becomes empty.
pub(crate) fn end_with_newline(draft: &mut Draft<'_>) -> Vec<Edit> {
    let text = draft.text();
    let words = text.trim_end_matches('\n').len();
    let newlines = text.len() - words;
    let wanted = usize::from(words > 0);
    if newlines > wanted {
        let edit = removal(draft, Step::SegmentEnd, words + wanted, newlines - wanted);
        draft.truncate(words + wanted);
        return vec![edit];
    }
    if newlines == wanted {
        return Vec::new();
    }
    let span = Span::new(draft.end(), draft.end());
    draft.push("\n", span);
    vec![Edit {
        step: Step::SegmentEnd,
        span,
        code_point: None,
        action: Action::Insert("\n"),
        repeats: 0,
    }]
}

fn removal(draft: &Draft<'_>, step: Step, start: usize, length: usize) -> Edit {
    Edit {
        step,
        span: draft.origin(start, length),
        code_point: draft.text()[start..].chars().next(),
        action: Action::Remove,
        repeats: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortcut_agrees_with_the_tables() {
        for c in '\0'..=char::MAX {
            let firm = canonical_combining_class(c) == 0
                && is_nfc_quick(std::iter::once(c)) == IsNormalized::Yes;
            assert_eq!(composes(c), !firm, "{c:?}");
        }
    }
}
