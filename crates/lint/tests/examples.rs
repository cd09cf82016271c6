//! Every rule's examples: the bad one gives exactly one finding, the good one none.

use headwater_lint::{Checked, Example, Linter, RuleSet};

fn findings(linter: &Linter, example: &Example, text: &str) -> Vec<String> {
    let checked = linter.check(&example.path, text.as_bytes(), &Default::default());
    let Checked::Judged(outcome) = checked else {
        return vec![format!("{checked:?}")];
    };
    let found = outcome.findings.into_iter();
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
            let found = findings(&linter, example, &example.bad);
            if found.len() != 1 || !found[0].starts_with(&format!("{} at", rule.id)) {
                wrong.push(format!("{} bad {number}: {found:#?}", rule.id));
            }
            let clean = [
                ("good", Some(&example.good)),
                ("fixed", example.fixed.as_ref()),
            ];
            for (name, text) in clean {
                let found = text.map(|text| findings(&linter, example, text));
                if let Some(found) = found.filter(|found| !found.is_empty()) {
                    wrong.push(format!("{} {name} {number}: {found:#?}", rule.id));
                }
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
            for found in findings(&linter, example, &example.bad) {
                assert!(!found.contains(['{', '}']), "{found}");
            }
        }
    }
}
