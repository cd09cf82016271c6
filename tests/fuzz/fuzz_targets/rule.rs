//! Any text as a rule and as a config: no panic, and an error has a place in the file.
#![no_main]

use headwater_lint::{Config, Rule};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|yaml: &str| {
    if let Err(error) = Rule::parse(yaml, "fuzzed") {
        assert!(error.position.line >= 1 && error.position.column >= 1, "{error}");
    }
    if let Err(error) = Config::parse(yaml, "fuzzed") {
        assert!(error.position.line >= 1 && error.position.column >= 1, "{error}");
    }
});
