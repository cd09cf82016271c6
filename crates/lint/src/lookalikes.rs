//! Words that mix letters of two scripts which look the same.

use headwater_text::Span;

use headwater_template::Template;

use crate::{finding::Finding, matcher::Matcher, rule::Rule};

/// Letters of Cyrillic and Greek that nobody can tell from Latin ones.
const LOOKALIKES: &str = "аеорсухіјѕԁһԛԝАВЕКМНОРСТУХІЈЅοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ";

/// At most one finding, with the number of words.
pub(crate) fn find(rules: &[Rule], template: &Template) -> Option<Finding> {
    let is_mine = |rule: &&Rule| matches!(rule.matcher, Matcher::Lookalikes);
    let rule = rules.iter().find(is_mine)?;
    let mut places = Vec::new();
    for text in template.texts() {
        let source = template.source().slice(*text);
        if !source.is_ascii() {
            places.extend(in_text(source, text.start));
        }
    }
    let (span, letter) = *places.first()?;
    let cost = template.static_bytes_from(span.start);
    let finding = Finding::new(rule, template, span, cost);
    let code_point = format!("U+{:04X} `{letter}`", u32::from(letter));
    Some(
        finding
            .with("letter", &code_point)
            .with("count", &places.len().to_string()),
    )
}

/// The first such letter of each word that also has Latin ones.
fn in_text(text: &str, base: usize) -> Vec<(Span, char)> {
    let mut found = Vec::new();
    let mut at = 0;
    for word in text.split_inclusive(|c: char| !c.is_alphabetic()) {
        let letters = word.trim_end_matches(|c: char| !c.is_alphabetic());
        let is_latin = |c: char| c.is_ascii_alphabetic();
        // One Latin letter beside others is a unit or a name: Δx.
        let mixed = letters.chars().filter(|c| is_latin(*c)).count() > 1;
        let odd = letters
            .char_indices()
            .find(|(_, c)| LOOKALIKES.contains(*c));
        if let (true, Some((offset, letter))) = (mixed, odd) {
            let start = base + at + offset;
            let end = start + letter.len_utf8();
            found.push((Span { start, end }, letter));
        }
        at += word.len();
    }
    found
}
