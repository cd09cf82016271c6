//! What a template is refused for on load is what the linter reports, in the same words.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::LazyLock;

use headwater_lint::{Linter, RuleSet};
use headwater_template::{Dialect, Source, Template};
use proptest::prelude::*;

static LINTER: LazyLock<Linter> = LazyLock::new(|| Linter::new(RuleSet::builtin().unwrap()));

fn parse(body: &str) -> Template {
    let front = "{# headwater: {volatility: {fact: static, plan: semi_static, ticket: dynamic}} #}";
    let source = Source::from_bytes(format!("{front}\n{body}\n").as_bytes()).unwrap();
    Template::parse(source, Dialect::Jinja)
}

/// Place, code and words of the faults, and of the linter's findings about order.
fn both(template: &Template) -> [Vec<String>; 2] {
    let faults = template.order_faults();
    let faults = faults
        .iter()
        .map(|fault| format!("{fault}; {}", fault.help()));
    let findings = LINTER
        .lint(template)
        .into_iter()
        .filter(|finding| ["HW101", "HW102"].contains(&finding.code.as_str()));
    let findings = findings.map(|finding| {
        // The linter also lists where else the value stands.
        let message = finding
            .message
            .split(" (also in line")
            .next()
            .unwrap_or_default();
        format!(
            "{}: {} {message}; {}",
            finding.position, finding.code, finding.help
        )
    });
    let mut both = [faults.collect::<Vec<_>>(), findings.collect()];
    both.iter_mut().for_each(|list| list.sort());
    both
}

#[test]
fn faults_are_the_linters_findings() {
    let rest = "You are a clerk who answers politely.";
    let check = |body: &str, expected: usize| {
        let [faults, findings] = both(&parse(body));
        assert_eq!(faults.len(), expected, "{body}");
        assert_eq!(faults, findings, "{body}");
    };
    check(&format!("{{{{ ticket }}}}\n{rest}"), 1);
    check(&format!("{{{{ plan.name }}}}\n{{{{ ticket }}}}\n{rest}"), 2);
    check(
        &format!("{{% for t in ticket %}}{{{{ t }}}}{{% endfor %}}\n{rest}"),
        1,
    );
    check(&format!("{{% set x = plan %}}{{{{ x }}}}\n{rest}"), 1);
    check(
        &format!("{rest}\n{{{{ fact }}}}\n{{{{ plan }}}}\n{{{{ ticket }}}}"),
        0,
    );
    // The label of the next item follows each item.
    check(
        "{% for t in ticket %}Number of the ticket {{ t }}{% endfor %}",
        0,
    );
}

const FRAGMENTS: [&str; 16] = [
    "{{ fact }}",
    "{{ plan }}",
    "{{ ticket }}",
    "{{ plan.a }}{{ ticket.b }}",
    "{% for t in ticket %}",
    "{% for t in plan %}",
    "{{ t }}",
    "{% endfor %}",
    "{% if fact %}",
    "{% endif %}",
    "{% set t = ticket %}",
    "You are a clerk who answers politely.\n",
    "Label:\n",
    "\n",
    "<|im_start|>user\n",
    "<|im_start|>assistant\n",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn in_any_template(picks in prop::collection::vec(0..FRAGMENTS.len(), 0..12)) {
        let body: String = picks.iter().map(|pick| FRAGMENTS[*pick]).collect();
        let [faults, findings] = both(&parse(&body));
        prop_assert_eq!(faults, findings, "{}", body);
    }
}
