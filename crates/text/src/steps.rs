//! The steps of cleaning: each takes a draft, changes it, and says what it did. None of them
//! decides about a character of the table; that has been done.

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::draft::Draft;
use crate::inspect::Verdict;
use crate::layout::{is_newline, lines};
use crate::{Action, Class, Span, Step};

/// One change, before it has a line and a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit {
    pub(crate) step: Step,
    /// In the input.
    pub(crate) span: Span,
    pub(crate) code_point: Option<char>,
    pub(crate) action: Action,
}

/// Carries out decisions about characters of the table, as far as `treatment` lets them.
pub(crate) fn apply(
    draft: &mut Draft,
    verdicts: &[Verdict],
    treatment: impl Fn(&Verdict) -> Action,
) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut next = Draft::default();
    let mut done = 0;
    for verdict in verdicts {
        let action = treatment(verdict);
        let with = match action {
            Action::Remove => "",
            Action::Replace(with) => with,
            _ => continue,
        };
        next.copy(draft, done, verdict.at);
        done = verdict.at + verdict.length;
        let span = draft.origin(verdict.at, verdict.length);
        for c in with.chars() {
            next.push(c, span);
        }
        edits.push(Edit {
            step: step_of(verdict.class),
            span,
            code_point: Some(draft.chars()[verdict.at]),
            action,
        });
    }
    if !edits.is_empty() {
        next.copy(draft, done, draft.chars().len());
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
pub(crate) fn normalize(draft: &mut Draft) -> Vec<Edit> {
    if is_nfc_quick(draft.chars().iter().copied()) == IsNormalized::Yes {
        return Vec::new();
    }
    let mut edits = Vec::new();
    let mut next = Draft::default();
    let mut done = 0;
    for line in lines(draft.chars()).iter().filter(|line| !line.fenced) {
        let mut start = line.start;
        while start < line.end {
            let end = cluster_end(draft.chars(), start, line.end);
            if let Some(part) = composed(&draft.chars()[start..end]) {
                let at = start + part.skipped;
                next.copy(draft, done, at);
                done = at + part.length;
                let span = draft.origin(at, part.length);
                part.composed.iter().for_each(|c| next.push(*c, span));
                edits.push(Edit {
                    step: Step::Nfc,
                    span,
                    code_point: draft.chars().get(at).copied(),
                    action: Action::Normalize,
                });
            }
            start = end;
        }
    }
    if !edits.is_empty() {
        next.copy(draft, done, draft.chars().len());
        *draft = next;
    }
    edits
}

/// Where the next character stands that can never compose with what is before it.
fn cluster_end(chars: &[char], start: usize, limit: usize) -> usize {
    let is_border = |c: &char| {
        c.is_ascii()
            || (canonical_combining_class(*c) == 0
                && is_nfc_quick(std::iter::once(*c)) == IsNormalized::Yes)
    };
    chars[start + 1..limit]
        .iter()
        .position(is_border)
        .map_or(limit, |length| start + 1 + length)
}

/// The part of a cluster that form NFC changes.
struct Composition {
    /// Characters of the cluster before the part.
    skipped: usize,
    /// Characters of the part.
    length: usize,
    /// What it becomes.
    composed: Vec<char>,
}

/// What form NFC changes in a cluster, if anything.
fn composed(cluster: &[char]) -> Option<Composition> {
    if is_nfc_quick(cluster.iter().copied()) == IsNormalized::Yes {
        return None;
    }
    let mut composed: Vec<char> = cluster.iter().copied().nfc().collect();
    if composed == cluster {
        return None;
    }
    let skipped = common(cluster.iter(), composed.iter());
    let kept = common(
        cluster[skipped..].iter().rev(),
        composed[skipped..].iter().rev(),
    );
    composed.truncate(composed.len() - kept);
    composed.drain(..skipped);
    Some(Composition {
        skipped,
        length: cluster.len() - skipped - kept,
        composed,
    })
}

/// How many characters two sequences have in common from their start.
fn common<'a>(one: impl Iterator<Item = &'a char>, other: impl Iterator<Item = &'a char>) -> usize {
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

/// Takes spaces and tabs from the ends of lines outside fenced code.
///
/// All of them: also the two that make a hard break in Markdown. A prompt is read and not
/// rendered, and half of all editors take them away on saving; the canonical text must not
/// depend on who saved it last.
pub(crate) fn strip_line_ends(draft: &mut Draft) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut next = Draft::default();
    let mut done = 0;
    for line in lines(draft.chars()).iter().filter(|line| !line.fenced) {
        let blank = draft.chars()[line.start..line.end]
            .iter()
            .rev()
            .take_while(|c| matches!(c, ' ' | '\t'))
            .count();
        if blank == 0 {
            continue;
        }
        let start = line.end - blank;
        next.copy(draft, done, start);
        done = line.end;
        edits.push(removal(draft, Step::TrailingSpace, start, blank));
    }
    if !edits.is_empty() {
        next.copy(draft, done, draft.chars().len());
        *draft = next;
    }
    edits
}

/// Takes blank lines from the start; the indentation of the first line with words stays.
pub(crate) fn drop_leading_blank_lines(draft: &mut Draft) -> Vec<Edit> {
    let blank = draft.chars().iter().take_while(|c| is_newline(**c)).count();
    if blank == 0 {
        return Vec::new();
    }
    let edit = removal(draft, Step::SegmentStart, 0, blank);
    draft.drop_first(blank);
    vec![edit]
}

/// Makes exactly one LF end the text; a text of nothing but blank lines becomes empty.
pub(crate) fn end_with_newline(draft: &mut Draft) -> Vec<Edit> {
    let length = draft.chars().len();
    let newlines = draft
        .chars()
        .iter()
        .rev()
        .take_while(|c| **c == '\n')
        .count();
    let wanted = usize::from(newlines < length);
    if newlines > wanted {
        let start = length - newlines + wanted;
        let edit = removal(draft, Step::SegmentEnd, start, newlines - wanted);
        draft.truncate(start);
        return vec![edit];
    }
    if newlines == wanted {
        return Vec::new();
    }
    let span = Span::new(draft.end(), draft.end());
    draft.push('\n', span);
    vec![Edit {
        step: Step::SegmentEnd,
        span,
        code_point: None,
        action: Action::Insert("\n"),
    }]
}

fn removal(draft: &Draft, step: Step, start: usize, length: usize) -> Edit {
    Edit {
        step,
        span: draft.origin(start, length),
        code_point: draft.chars().get(start).copied(),
        action: Action::Remove,
    }
}
