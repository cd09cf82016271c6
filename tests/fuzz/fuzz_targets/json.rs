//! Any text as JSON: no panic, agreement with `serde_json`, and canonical text that says the same
//! and is its own canonical text; the same for lists of tools and for values.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The module without its crate, which would bring a tokenizer and its C library into the build.
#[path = "../../../crates/prompt/src"]
mod prompt {
    pub mod json;
}

#[path = "../../../crates/prompt/tests/support/json_oracle.rs"]
mod oracle;

use json::{Style, ToolOrder};
use prompt::json;

fuzz_target!(|text: &str| {
    oracle::check(text);
    for order in [ToolOrder::ByName, ToolOrder::AsGiven] {
        if let Ok(list) = json::tools(text, order, Style::Spaced) {
            let again = json::tools(&list, order, Style::Spaced);
            assert_eq!(again.as_ref(), Ok(&list));
        }
        let _ = json::tool_list(&[text, text], order, Style::Compact);
    }
    if let Ok(value) = serde_json::from_str(text) {
        let written = json::from_value(&value, Style::Compact).unwrap();
        // Not with `value` itself: that reader does not always give back the float it printed.
        assert_eq!(oracle::read(&written), oracle::read(&value.to_string()));
    }
});
