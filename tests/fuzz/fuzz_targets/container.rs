//! Any bytes as JSON and YAML files of prompts: no panic, an answer in time, places inside the file.
#![no_main]

#[path = "shared/document.rs"]
mod document;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for path in ["a.json", "chat.yaml", "promptfooconfig.yaml", "tokenizer_config.json"] {
        document::check(path, bytes);
    }
});
