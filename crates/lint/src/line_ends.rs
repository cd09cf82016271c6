//! How the lines of a template end; each fault is reported once, at its first place.

use headwater_template::{Dialect, Template};
use headwater_text::Span;

use crate::{
    finding::Finding,
    matcher::{LineEnds, Matcher},
    rule::Rule,
};

/// Ways to end a line, longest first.
const FORMS: [(&str, &str); 6] = [
    ("\r\n", "CRLF"),
    ("\n", "LF"),
    ("\r", "CR"),
    ("\u{85}", "NEL"),
    ("\u{2028}", "LINE SEPARATOR"),
    ("\u{2029}", "PARAGRAPH SEPARATOR"),
];

/// Findings of all rules about ends of lines.
pub(crate) fn find(rules: &[Rule], template: &Template) -> Vec<Finding> {
    let endings = endings(template.source().text());
    let judge = |rule: &Rule| match &rule.matcher {
        Matcher::LineEnds(LineEnds::Mixed) => mixed(rule, template, &endings),
        Matcher::LineEnds(LineEnds::Crlf) => crlf(rule, template, &endings),
        Matcher::LineEnds(LineEnds::TrailingSpace) => trailing_space(rule, template),
        Matcher::LineEnds(LineEnds::NoFinalNewline) => no_final_newline(rule, template),
        _ => None,
    };
    rules.iter().filter_map(judge).collect()
}

/// The first line that ends in one of the rarer ways.
fn mixed(rule: &Rule, template: &Template, endings: &[(Span, usize)]) -> Option<Finding> {
    let count = |form: usize| endings.iter().filter(|(_, each)| *each == form).count();
    let used: Vec<usize> = (0..FORMS.len()).filter(|form| count(*form) > 0).collect();
    // Of equally many the later one in the table is the odd one: LF stays.
    let usual = *used
        .iter()
        .max_by_key(|form| (count(**form), usize::from(FORMS[**form].1 == "LF")))?;
    let (span, odd) = *endings.iter().find(|(_, form)| *form != usual)?;
    let names: Vec<_> = used
        .iter()
        .filter(|form| **form != odd)
        .map(|form| FORMS[*form].1)
        .collect();
    let cost = template.static_bytes_from(span.start);
    let finding = Finding::new(rule, template, span, cost);
    Some(
        finding
            .with("form", FORMS[odd].1)
            .with("others", &names.join(" and ")),
    )
}

/// The first line of a file whose lines all end with CRLF.
fn crlf(rule: &Rule, template: &Template, endings: &[(Span, usize)]) -> Option<Finding> {
    let (first, _) = *endings.first()?;
    if endings.iter().any(|(_, form)| FORMS[*form].1 != "CRLF") {
        return None;
    }
    let cost = template.static_bytes_from(first.start);
    let finding = Finding::new(rule, template, first, cost);
    Some(finding.with("count", &endings.len().to_string()))
}

/// The first static line with spaces or tabs at its end.
fn trailing_space(rule: &Rule, template: &Template) -> Option<Finding> {
    let spans = trailing_spaces(template);
    let span = *spans.first()?;
    let cost = template.static_bytes_from(span.start);
    let finding = Finding::new(rule, template, span, cost);
    Some(finding.with("count", &spans.len().to_string()))
}

/// Spaces and tabs at the end of static lines.
pub(crate) fn trailing_spaces(template: &Template) -> Vec<Span> {
    let mut found = Vec::new();
    for text in template.texts() {
        let printed = printed(template, *text);
        let source = template.source().slice(printed);
        let mut at = 0;
        let mut lines = source.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            let start = at;
            at += line.len();
            let Some(line) = line.strip_suffix('\n') else {
                continue;
            };
            let line = line.strip_suffix('\r').unwrap_or(line);
            let kept = line.trim_end_matches([' ', '\t']);
            if kept.len() == line.len() {
                continue;
            }
            // Two spaces before another line break the line in Markdown.
            let mut next_is_blank = || lines.peek().is_none_or(|next| next.trim().is_empty());
            let breaks = &line[kept.len()..] == "  " && !kept.is_empty() && !next_is_blank();
            if !breaks {
                found.push(Span {
                    start: printed.start + start + kept.len(),
                    end: printed.start + start + line.len(),
                });
            }
        }
    }
    found
}

/// A static text without the white space that trim marks of the tags around it take away.
fn printed(template: &Template, text: Span) -> Span {
    let source = template.source().text();
    let inside = template.source().slice(text);
    let mut printed = text;
    if source[text.end..].get(2..3) == Some("-") {
        printed.end = text.start + inside.trim_end().len();
    }
    if source[..text.start].ends_with("-%}") || source[..text.start].ends_with("-}}") {
        let kept = inside.trim_start().len();
        printed.start = (text.end - kept).min(printed.end);
    }
    printed
}

/// The end of a text that is sent as it is; template engines have their own way with the last line.
fn no_final_newline(rule: &Rule, template: &Template) -> Option<Finding> {
    let text = template.source().text();
    let body = text.get(template.body_start()..)?;
    let plain = template.dialect() == Dialect::Plain && template.source().is_whole_file();
    if !plain || body.trim().is_empty() || body.ends_with(['\n', '\r']) {
        return None;
    }
    let end = text.len();
    Some(Finding::new(rule, template, Span { start: end, end }, 4))
}

/// How most lines of a text end; LF if none ends.
pub(crate) fn usual(text: &str) -> &'static str {
    let endings = endings(text);
    let count = |form: usize| endings.iter().filter(|(_, each)| *each == form).count();
    let most = (0..FORMS.len()).max_by_key(|form| (count(*form), usize::from(*form == 1)));
    FORMS[most.unwrap_or(1)].0
}

/// Every line's end with its form.
pub(crate) fn endings(text: &str) -> Vec<(Span, usize)> {
    // The bytes that an end begins with: all of one in ASCII, two of several in other texts.
    let (common, rare) = (
        memchr::memchr2_iter(b'\r', b'\n', text.as_bytes()),
        memchr::memchr2_iter(0xC2, 0xE2, text.as_bytes()),
    );
    let rare = rare.filter(|at| text[*at..].starts_with(['\u{85}', '\u{2028}', '\u{2029}']));
    let mut starts: Vec<usize> = common.collect();
    let of_one_byte = starts.len();
    starts.extend(rare);
    if starts.len() > of_one_byte {
        starts.sort_unstable();
    }
    let mut endings = Vec::with_capacity(starts.len());
    let mut at = 0;
    for start in starts {
        // The second half of CRLF.
        if start < at {
            continue;
        }
        let form = FORMS
            .iter()
            .position(|(bytes, _)| text[start..].starts_with(bytes))
            .unwrap_or(1);
        at = start + FORMS[form].0.len();
        endings.push((Span { start, end: at }, form));
    }
    endings
}
