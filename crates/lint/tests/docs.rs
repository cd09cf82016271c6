//! The pages about rules say what the rules say.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use headwater_lint::{Checked, Linter, Rule, RuleSet, explain, rules_markdown};

const PAGE: &str = include_str!("../../../docs/rules.md");
const GUIDE: &str = include_str!("../../../docs/adding-a-rule.md");

#[test]
fn the_page_of_rules_is_up_to_date() {
    let page = rules_markdown(&RuleSet::builtin().unwrap());
    // `HEADWATER_WRITE_DOCS=1 cargo test -p headwater-lint --test docs` writes it anew.
    if std::env::var_os("HEADWATER_WRITE_DOCS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md");
        std::fs::write(path, &page).unwrap();
        return;
    }
    let at = page.lines().zip(PAGE.lines()).position(|(a, b)| a != b);
    assert!(
        page == PAGE,
        "docs/rules.md differs from the rules, first in line {:?}; write it anew with `headwater rules --format markdown > docs/rules.md`",
        at.map(|line| line + 1)
    );
}

/// The text of the first fenced block of a language.
fn block<'t>(page: &'t str, language: &str) -> &'t str {
    let fence = format!("```{language}\n");
    let behind = page.split(&fence).nth(1).unwrap();
    behind.split("```").next().unwrap()
}

#[test]
fn the_guides_rule_works() {
    let rule = Rule::parse(block(GUIDE, "yaml"), "weather-before-static.yaml").unwrap();
    let example = rule.examples[0].clone();
    assert_eq!(
        example.bad,
        block(GUIDE, "jinja"),
        "the guide shows one template"
    );
    let text = explain(&rule);
    for heading in ["What", "Why it costs", "Bad", "Good", "Fix"] {
        assert!(text.contains(&format!("\n{heading}\n")), "{heading}");
    }
    let mut rules = RuleSet::builtin().unwrap();
    rules.add(rule, "weather-before-static.yaml").unwrap();
    let linter = Linter::new(rules);
    let codes = |text: &str| {
        let checked = linter.check(&example.path, text.as_bytes(), &Default::default());
        let Checked::Judged(outcome) = checked else {
            return vec![format!("{checked:?}")];
        };
        let found = outcome.findings.iter();
        found
            .map(|finding| finding.code.as_str().to_owned())
            .collect()
    };
    assert_eq!(codes(&example.bad), ["HW290"]);
    assert_eq!(codes(&example.good), [""; 0]);
}

#[test]
fn every_kind_of_match_is_in_the_guide() {
    let yaml = "id: x\ncode: HW999\nseverity: info\nsummary: s\nmessage: m\nwhy: w\nhelp: h\nexamples: []\nmatch: {nonsense: {}}\n";
    let error = Rule::parse(yaml, "x.yaml").unwrap_err().to_string();
    // The reader lists the kinds that it knows.
    let kinds: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
    assert!(kinds.len() > 15, "{error}");
    for kind in kinds {
        assert!(
            GUIDE.contains(&format!("`{kind}:")),
            "{kind} is not in the guide"
        );
    }
}
