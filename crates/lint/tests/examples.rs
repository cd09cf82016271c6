//! Every rule's examples: the bad one gives exactly one finding, the good one none.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use headwater_lint::{Linter, RuleSet};
use headwater_template::{Dialect, Source, Template};

fn findings(linter: &Linter, text: &str) -> Vec<String> {
    let source = Source::from_bytes(text.as_bytes()).unwrap();
    let template = Template::parse(source, Dialect::Jinja);
    assert_eq!(template.problems(), [], "{text}");
    let found = linter.lint(&template).into_iter();
    found
        .map(|finding| {
            format!(
                "{} at {}: {}",
                finding.rule, finding.position, finding.message
            )
        })
        .collect()
}

#[test]
fn bad_examples_give_one_finding_and_good_ones_none() {
    let linter = Linter::new(RuleSet::builtin().unwrap());
    let mut wrong = Vec::new();
    for rule in linter.rules().rules() {
        for (number, example) in rule.examples.iter().enumerate() {
            let found = findings(&linter, &example.bad);
            if found.len() != 1 || !found[0].starts_with(&format!("{} at", rule.id)) {
                wrong.push(format!("{} bad {number}: {found:#?}", rule.id));
            }
            let found = findings(&linter, &example.good);
            if !found.is_empty() {
                wrong.push(format!("{} good {number}: {found:#?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn messages_leave_no_placeholder() {
    let linter = Linter::new(RuleSet::builtin().unwrap());
    for rule in linter.rules().rules() {
        for example in &rule.examples {
            for found in findings(&linter, &example.bad) {
                assert!(!found.contains(['{', '}']), "{found}");
            }
        }
    }
}
