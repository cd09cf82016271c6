//! Any bytes as Handlebars and dotprompt: no panic, an answer in time, places inside the file.
#![no_main]

#[path = "shared/document.rs"]
mod document;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for path in ["a.hbs", "a.prompt"] {
        document::check(path, bytes);
    }
});
