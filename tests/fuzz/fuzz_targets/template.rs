//! Any bytes as a template: no panic, an answer in time, the same findings twice, places inside it.
#![no_main]

use std::sync::LazyLock;

use headwater_lint::{Checked, Linter, Paint, Report, RuleSet, text};
use libfuzzer_sys::fuzz_target;

static LINTER: LazyLock<Linter> =
    LazyLock::new(|| Linter::new(RuleSet::builtin().expect("built-in rules are tested")));

fuzz_target!(|bytes: &[u8]| {
    for path in ["a.j2", "a.md"] {
        let check = || LINTER.check(path, bytes, &Default::default());
        if let (Checked::Judged(once), Checked::Judged(twice)) = (check(), check()) {
            assert_eq!(once.findings, twice.findings);
            for finding in &once.findings {
                assert!(once.text.get(finding.span.start..finding.span.end).is_some());
            }
            let report = Report { judged: vec![once], ..Report::default() };
            assert!(!text(&report, Paint::Plain, 80).is_empty());
        }
    }
});
