//! Lines of one file that end in different ways.

use headwater_template::Template;
use headwater_text::Span;

use crate::{
    finding::Finding,
    rule::{Matcher, Rule},
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

/// At most one finding: the first line that ends in one of the rarer ways.
pub(crate) fn find(rules: &[Rule], template: &Template) -> Option<Finding> {
    let rule = rules
        .iter()
        .find(|rule| matches!(rule.matcher, Matcher::Newlines))?;
    let endings = endings(template.source().text());
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

/// How most lines of a text end; LF if none ends.
pub(crate) fn usual(text: &str) -> &'static str {
    let endings = endings(text);
    let count = |form: usize| endings.iter().filter(|(_, each)| *each == form).count();
    let most = (0..FORMS.len()).max_by_key(|form| (count(*form), usize::from(*form == 1)));
    FORMS[most.unwrap_or(1)].0
}

/// Every line's end with its form.
pub(crate) fn endings(text: &str) -> Vec<(Span, usize)> {
    let mut endings = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find(['\r', '\n', '\u{85}', '\u{2028}', '\u{2029}']) {
        let start = at + offset;
        let form = FORMS
            .iter()
            .position(|(bytes, _)| text[start..].starts_with(bytes))
            .unwrap_or(1);
        at = start + FORMS[form].0.len();
        endings.push((Span { start, end: at }, form));
    }
    endings
}
