//! Characters of the invisible-character table, as the text crate judges them.

use headwater_template::Template;
use headwater_text::{Action, Sighting, Span, inspect, name};

use crate::{
    finding::Finding,
    matcher::{Grouping, Matcher},
    rule::Rule,
};

/// Findings about characters of the static text.
pub(crate) fn find(rules: &[Rule], template: &Template) -> Vec<Finding> {
    let sightings = inspect(template.source().text());
    let judged: Vec<&Sighting> = sightings
        .iter()
        .filter(|seen| !matches!(seen.action, Action::Keep | Action::Info))
        .filter(|seen| !in_comment(template, seen.span.start))
        .collect();
    let mut findings = Vec::new();
    for rule in rules {
        if let Matcher::Characters { classes, grouping } = &rule.matcher {
            let has = |seen: &&Sighting| classes.iter().any(|class| class == seen.class.as_str());
            let mine: Vec<&Sighting> = judged.iter().copied().filter(has).collect();
            for group in groups(&mine, *grouping) {
                findings.push(finding(rule, template, &group));
            }
        }
    }
    findings
}

fn in_comment(template: &Template, offset: usize) -> bool {
    let comments = template.comments();
    let after = comments.partition_point(|comment| comment.span.end <= offset);
    comments
        .get(after)
        .is_some_and(|comment| comment.span.start <= offset)
}

fn groups<'s>(sightings: &[&'s Sighting], grouping: Grouping) -> Vec<Vec<&'s Sighting>> {
    let mut groups: Vec<Vec<&Sighting>> = Vec::new();
    for seen in sightings {
        let belongs =
            groups
                .last()
                .and_then(|group| group.last())
                .is_some_and(|last| match grouping {
                    Grouping::Adjacent => last.span.end == seen.span.start,
                    Grouping::Line => last.position.line == seen.position.line,
                });
        match groups.last_mut() {
            Some(group) if belongs => group.push(seen),
            _ => groups.push(vec![seen]),
        }
    }
    groups
}

fn finding(rule: &Rule, template: &Template, group: &[&Sighting]) -> Finding {
    let (first, last) = (group[0], group[group.len() - 1]);
    let span = Span {
        start: first.span.start,
        end: last.span.end,
    };
    let code_point = u32::from(first.code_point);
    let mut character = format!("⟨U+{code_point:04X}⟩ {}", name(first.code_point));
    if group.len() > 1 {
        character.push_str(&format!(" (and {} more)", group.len() - 1));
    }
    Finding::new(rule, template, span, template.static_bytes_from(span.start))
        .with("character", &character)
}
