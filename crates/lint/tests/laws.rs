//! What holds for any text: no panic, the same findings twice, places inside the text, no repeats.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{collections::BTreeSet, sync::LazyLock};

use headwater_lint::{Checked, Linter, Outcome, Paint, Report, RuleSet, json, text};
use proptest::prelude::*;

/// Pieces of templates that make trouble when they meet.
const FRAGMENTS: [&str; 60] = [
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "{{ now }}",
    "{{ user.name }}",
    "{{ x | tojson }}",
    "{{ question }}",
    "{% for k, v in tools.items() %}",
    "{% endfor %}",
    "{% if user %}",
    "{% elif x %}",
    "{% else %}",
    "{% endif %}",
    "{% set x = now %}",
    "{% set y %}",
    "{% endset %}",
    "{% macro m(a) %}",
    "{% endmacro %}",
    "{{ m(now) }}",
    "{% raw %}",
    "{% endraw %}",
    "{% generation %}",
    "{% include 'x' %}",
    "{# headwater: ignore[HW201] why #}",
    "{# headwater: {volatility: {x: static}} #}",
    "---\n",
    "volatility: {x: dynamic}\n",
    "<|im_start|>user\n",
    "<|im_end|>",
    "User: ",
    "role: user",
    "You are a clerk who answers politely.",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\u{FEFF}",
    "\u{200B}",
    "\u{202E}",
    "e\u{301}",
    "\u{1F3F4}\u{E0067}",
    "{% for m in messages %}",
    "{% for m in messages[-20:] | reverse %}",
    "{% if loop.last %}",
    "{% if add_generation_prompt %}",
    "{{ m.content | trim }}",
    "{{ tool_call.id }}",
    "{{ '</think>' if loop.last else m.content }}",
    "{{ strftime_now('%d %b %Y %H:%M') }}",
    "{% include name ~ '.md' %}",
    "{{ tools if mode == 'plan' else x }}",
    "{{ d | date(\"LLLL\") }}",
    "{\"a\": 1, \"b\": {\"c\": \"",
    "{\"b\": 1, \"a\": 2}",
    "p\u{43E}licy",
    "{\"model\": \"claude-opus-5\", \"messages\": [",
    "\"cache_control\": {\"ttl\": \"2h\"}",
];

static LINTER: LazyLock<Linter> = LazyLock::new(|| Linter::new(RuleSet::builtin().unwrap()));

fn judged(path: &str, text: &str) -> Option<Outcome> {
    match LINTER.check(path, text.as_bytes(), &Default::default()) {
        Checked::Judged(outcome) => Some(outcome),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_mix_of_fragments_is_judged(picks in prop::collection::vec(0..FRAGMENTS.len(), 0..24), noise in "\\PC{0,8}") {
            let mut source: String = picks.iter().map(|pick| FRAGMENTS[*pick]).collect();
        source.push_str(&noise);
        for path in ["a.j2", "a.md", "a.hbs", "request.json"] {
            let Some(outcome) = judged(path, &source) else {
                continue;
            };
            let again = judged(path, &source).unwrap();
            prop_assert_eq!(&outcome.findings, &again.findings);
            let mut seen = BTreeSet::new();
            for finding in &outcome.findings {
                prop_assert!(source.get(finding.span.start..finding.span.end).is_some());
                prop_assert!(seen.insert((finding.rule.clone(), finding.span)), "{} twice", finding.rule);
            }
            let report = Report { judged: vec![outcome], ..Report::default() };
            prop_assert!(!text(&report, Paint::Plain, 80).is_empty());
            prop_assert!(json(&report).is_ok());
        }
    }
}

/// One fault, one finding: what each of these lines must say and nothing else.
#[test]
fn a_fault_is_named_once() {
    let check = |source: &str, expected: &[&str]| {
        let outcome = judged("a.j2", source).unwrap();
        let found: Vec<_> = outcome
            .findings
            .iter()
            .map(|f| format!("{} {}", f.code, f.position))
            .collect();
        assert_eq!(found, expected, "{source}");
    };
    let rest = "You are a clerk who answers politely.\n";
    // A clock is not "dynamic before static" as well, whatever is declared.
    check(
        &format!("{{# headwater: {{volatility: {{now: dynamic}}}} #}}\n{{{{ now }}}}\n{rest}"),
        &["HW201 2:4"],
    );
    // Declared static, so nobody complains.
    check(
        &format!("{{# headwater: {{volatility: {{now: static}}}} #}}\n{{{{ now }}}}\n{rest}"),
        &[],
    );
    // The second use of a variable is in the first one's message.
    check(
        &format!("{{{{ user.name }}}}\n{{{{ user.age }}}}\n{rest}"),
        &["HW204 1:4"],
    );
    // The JSON of documents ahead of the rules is one fault.
    check(
        &format!("{{{{ documents | tojson }}}}\n{rest}"),
        &["HW206 1:4"],
    );
    // A condition about a value that is reported anyway.
    check(
        &format!("{{% if user %}}Hello there {{{{ user.name }}}}{{% endif %}}\n{rest}"),
        &["HW204 1:29"],
    );
    // Behind the last static text everything is allowed.
    check(
        &format!("{rest}{{{{ now }}}} {{{{ user.name }}}}\n{{{{ documents | tojson }}}}"),
        &[],
    );
    // The usual retrieval prompt: labels and tags are no rules.
    check(
        &format!(
            "{rest}<context>\n{{{{ context }}}}\n</context>\n\nQuestion:\n{{{{ question }}}}\nAnswer:"
        ),
        &[],
    );
    // In the user's turn.
    check(
        &format!(
            "<|im_start|>system\n{rest}<|im_end|>\n<|im_start|>user\nIt is {{{{ now }}}}. Answer in one sentence, please: {{{{ q }}}}<|im_end|>\n<|im_start|>assistant\n"
        ),
        &[],
    );
    // Suppressed, with a reason.
    check(
        &format!("{{# headwater: ignore[HW201] frozen in tests #}}\n{{{{ now }}}}\n{rest}"),
        &[],
    );
    // A macro's value is reported where it stands.
    check(
        &format!(
            "{{% macro head(t) %}}It is {{{{ t }}}}.{{% endmacro %}}{{{{ head(now) }}}}\n{rest}"
        ),
        &["HW201 1:29"],
    );
}

#[test]
fn other_uses_are_listed() {
    let source = "{{ now }}\nBe short and be kind.\n{{ now }}\nBe short and be kind.\n{{ now }}\nBe short and be kind.\n";
    let outcome = judged("a.j2", source).unwrap();
    assert_eq!(
        outcome.findings[0].message,
        "`now` reads a clock, and static text follows it (also in line 3, 5)"
    );
}
