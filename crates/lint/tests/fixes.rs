//! What fixes do, and the laws that hold for all of them.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{collections::BTreeMap, sync::LazyLock};

use headwater_lint::{Input, Linter, Repair, RuleSet, Safety};
use proptest::prelude::*;

static LINTER: LazyLock<Linter> = LazyLock::new(|| Linter::new(RuleSet::builtin().unwrap()));

fn repair(path: &str, text: &str, safety: Safety) -> Option<Repair> {
    let declared = BTreeMap::new();
    LINTER.repair(&Input::alone(path, text.as_bytes(), &declared), safety)
}

#[track_caller]
fn check(safety: Safety, before: &str, after: &str) {
    let repair = repair("a.j2", before, safety).unwrap();
    assert_eq!(repair.text, after, "{:#?}", repair.dropped);
}

#[test]
fn safe_fixes() {
    let check = |before: &str, after: &str| check(Safety::Safe, before, after);
    check("Be pol\u{200B}ite to\u{200B}day.\n", "Be polite today.\n");
    check("\u{FEFF}Be kind.\n", "Be kind.\n");
    check(
        "Be kind.\r\nBe short.\nBe quick.\r",
        "Be kind.\nBe short.\nBe quick.\n",
    );
    check(
        "A cafe\u{301} and a the\u{301}.\n",
        "A caf\u{E9} and a th\u{E9}.\n",
    );
    let rest = "Leave a field out if you do not know its value.\n";
    let front = "{# headwater: {volatility: {schema: static, tools: static}} #}\n";
    for (before, after) in [
        (
            "{{ schema | tojson }}",
            "{{ schema | tojson(sort_keys=true) }}",
        ),
        (
            "{{ schema|tojson() }}",
            "{{ schema|tojson(sort_keys=true) }}",
        ),
        (
            "{{ schema | tojson(indent=2) }}",
            "{{ schema | tojson(indent=2, sort_keys=true) }}",
        ),
        (
            "{{ schema | tojson(2, separators=(',', ')')) }}",
            "{{ schema | tojson(2, separators=(',', ')'), sort_keys=true) }}",
        ),
        (
            "{% for k, v in tools.items() %}{{ k }}{% endfor %}",
            "{% for k, v in tools | dictsort %}{{ k }}{% endfor %}",
        ),
        (
            "{% for k, v in a.tools . items( ) %}{{ k }}{% endfor %}",
            "{% for k, v in a.tools | dictsort %}{{ k }}{% endfor %}",
        ),
    ] {
        check(
            &format!("{front}{before}\n{rest}"),
            &format!("{front}{after}\n{rest}"),
        );
    }
    check(
        "Be kind.\n{# headwater: ignore[HW201] frozen #}\nBe short.\n",
        "Be kind.\nBe short.\n",
    );
    check(
        "It is {{ now }}. {# headwater: ignore[HW201, HW202] frozen #}\nAnswer every question politely.\n",
        "It is {{ now }}. {# headwater: ignore[HW201] frozen #}\nAnswer every question politely.\n",
    );
}

#[test]
fn unsafe_fixes_wait_to_be_asked_for() {
    let before = "It is {{ now }}.\nYou are a clerk who answers politely.\n{{ question }}\n";
    let after = "You are a clerk who answers politely.\nIt is {{ now }}.\n{{ question }}\n";
    check(Safety::Safe, before, before);
    check(Safety::Unsafe, before, after);
}

#[test]
fn lines_move_only_where_they_may() {
    let rest = "You are a clerk who answers politely.";
    let check = |before: &str, after: &str| check(Safety::Unsafe, before, after);
    // The last line has no end.
    check(
        &format!("Hello.\nIt is {{{{ now }}}}.\n{rest}"),
        &format!("Hello.\n{rest}\nIt is {{{{ now }}}}."),
    );
    // A label keeps its value, on a line of its own.
    check(
        &format!("Stamp: {{{{ now }}}}\n{rest}\n"),
        &format!("{rest}\nStamp:\n{{{{ now }}}}\n"),
    );
    // Two of them keep their order.
    check(
        &format!("It is {{{{ now }}}}.\nFor {{{{ user.name }}}}.\n{rest}\n"),
        &format!("{rest}\nIt is {{{{ now }}}}.\nFor {{{{ user.name }}}}.\n"),
    );
    let stays = [
        // Inside of a block, and with a tag on the line.
        format!("{{% if brief %}}\nIt is {{{{ now }}}}.\n{{% endif %}}\n{rest}\n"),
        format!("It is {{{{ now }}}}. {{% if x %}}a{{% endif %}}\n{rest}\n"),
        // The text behind it is inside of a block.
        format!("It is {{{{ now }}}}.\n{{% if brief %}}\n{rest}\n{{% endif %}}\n"),
        // The name means something else there.
        format!("{{% set t = now %}}\n{{{{ t }}}}\n{{% set t = 1 %}}\n{rest}\n"),
        // Another message.
        format!(
            "<|im_start|>system\nIt is {{{{ now }}}}.<|im_end|>\n<|im_start|>system\n{rest}<|im_end|>\n"
        ),
    ];
    for text in stays {
        check(&text, &text);
    }
}

#[test]
fn a_moved_line_ends_as_its_file_does() {
    let linter = Linter::new(RuleSet::builtin().unwrap());
    let linter = linter.choosing(&[], &["HW4".to_owned()]).unwrap();
    let before = b"It is {{ now }}.\r\nYou are a clerk who answers politely.";
    let declared = BTreeMap::new();
    let input = Input::alone("a.j2", before, &declared);
    let repair = linter.repair(&input, Safety::Unsafe).unwrap();
    let after = "You are a clerk who answers politely.\r\nIt is {{ now }}.";
    assert_eq!(repair.text, after);
}

#[test]
fn examples_are_fixed_as_they_say() {
    let mut wrong = Vec::new();
    for rule in LINTER.rules().rules() {
        let mut works = rule.fix.is_none();
        for (number, example) in rule.examples.iter().enumerate() {
            let Some(repair) = repair(&example.path, &example.bad, Safety::Unsafe) else {
                continue;
            };
            works |= repair
                .applied
                .iter()
                .any(|each| each.finding.rule == rule.id);
            let expected = example.fixed.as_ref();
            if let Some(fixed) = expected.filter(|fixed| **fixed != repair.text) {
                wrong.push(format!(
                    "{} {number}:\n{fixed:?}\n{:?}\n{:?}",
                    rule.id, repair.text, repair.dropped
                ));
            }
        }
        if !works {
            wrong.push(format!("{}: no example can be fixed", rule.id));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pieces that have fixes, or stand in the way of one.
const FRAGMENTS: [&str; 30] = [
    "{{ now }}",
    "{{ user.name }}",
    "{{ x | tojson }}",
    "{{ x | tojson(indent=2) }}",
    "{{ question }}",
    "{% for k, v in tools.items() %}",
    "{% endfor %}",
    "{% if user %}",
    "{% endif %}",
    "{% set x = now %}",
    "{# headwater: ignore[HW201] why #}",
    "{# headwater: ignore[HW201,HW403] #}",
    "<!-- headwater: ignore-file[HW406] -->",
    "<|im_start|>user\n",
    "<|im_end|>",
    "You are a clerk who answers politely.",
    "Question: ",
    " ",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "\u{85}",
    "\u{FEFF}",
    "\u{200B}",
    "\u{202E}",
    "\u{7}",
    "\u{A0}",
    "e\u{301}",
    "\u{E0067}",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn nothing_fixable_is_left_and_twice_is_once(picks in prop::collection::vec(0..FRAGMENTS.len(), 0..24)) {
        let text: String = picks.iter().map(|pick| FRAGMENTS[*pick]).collect();
        for (path, safety) in [("a.j2", Safety::Safe), ("a.j2", Safety::Unsafe), ("a.md", Safety::Safe)] {
            let Some(once) = repair(path, &text, safety) else { continue };
            let left = once.outcome.findings.iter().filter(|finding| finding.fix.as_ref().is_some_and(|fix| fix.safety <= safety));
            for finding in left {
                let is_dropped = once.dropped.iter().any(|each| each.finding == *finding);
                // One that overlaps a dropped one was not tried.
                prop_assert!(is_dropped || !once.dropped.is_empty(), "{:?} in {:?}", finding, once.text);
            }
            let twice = repair(path, &once.text, safety).unwrap();
            prop_assert_eq!(&twice.text, &once.text);
            prop_assert!(twice.applied.is_empty());
        }
    }
}
