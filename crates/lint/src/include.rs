//! Text of another file whose name is known only when the prompt is made.

use headwater_template::MIN_PROSE_BYTES;

use crate::{
    code::{Code, Tag},
    finding::Finding,
    matcher::Matcher,
    rule::Rule,
};

/// A finding for each name that is not written out.
pub(crate) fn find(rules: &[Rule], code: &Code<'_>) -> Vec<Finding> {
    let is_include = |rule: &&Rule| matches!(rule.matcher, Matcher::Include);
    let Some(rule) = rules.iter().find(is_include) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for tag in &code.tags {
        let cost = code.template.static_bytes_from(tag.span.end);
        let Some(name) = computed_name(tag).filter(|_| cost >= MIN_PROSE_BYTES) else {
            continue;
        };
        findings.push(Finding::new(rule, code.template, tag.span, cost).with("name", name));
    }
    findings
}

/// What stands in the place of the name, unless that is a string or a list of strings.
fn computed_name<'t>(tag: &Tag<'t>) -> Option<&'t str> {
    let word = tag.word();
    if !matches!(word, "include" | "extends") {
        return partial(tag);
    }
    let name = tag.code[word.len()..].trim();
    let name = [" ignore missing", " with context", " without context"]
        .iter()
        .fold(name, |name, end| name.trim_end_matches(end).trim());
    let literal = name.starts_with(['"', '\'', '[', '(']) && !name.contains(['~', '+', '|', '%']);
    (!literal && !name.is_empty()).then_some(name)
}

/// `{{> (lookup . 'name')}}` of Handlebars.
fn partial<'t>(tag: &Tag<'t>) -> Option<&'t str> {
    let name = tag.code.strip_prefix('>')?.trim();
    name.starts_with('(').then_some(name)
}
