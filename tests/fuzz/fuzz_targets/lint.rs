//! Any bytes under any kind of name through all rules: no panic, an answer in time, the same findings
//! twice, places inside the file.
#![no_main]

use std::sync::LazyLock;

use headwater_lint::{Checked, Linter, RuleSet};
use libfuzzer_sys::fuzz_target;

static LINTER: LazyLock<Linter> =
    LazyLock::new(|| Linter::new(RuleSet::builtin().expect("built-in rules are tested")));

/// One for each kind of file; the first byte chooses.
const PATHS: [&str; 10] = [
    "a.j2",
    "a.md",
    "a.txt",
    "request.json",
    "tokenizer_config.json",
    "promptfooconfig.yaml",
    "a.hbs",
    "a.mustache",
    "a.tmpl",
    "a.prompty",
];

fuzz_target!(|input: (u8, &[u8])| {
    let (choice, bytes) = input;
    let path = PATHS[usize::from(choice) % PATHS.len()];
    let check = || LINTER.check(path, bytes, &Default::default());
    if let (Checked::Judged(once), Checked::Judged(twice)) = (check(), check()) {
        assert_eq!(once.findings, twice.findings);
        for finding in &once.findings {
            let span = finding.span;
            assert!(once.text.get(span.start..span.end).is_some(), "{path}: {span:?}");
            assert!(!finding.message.is_empty());
        }
    }
});
