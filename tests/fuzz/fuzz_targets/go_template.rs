//! Any bytes as Go templates, Semantic Kernel prompts and fields of Python: no panic, an answer in time, places inside the file.
#![no_main]

#[path = "shared/document.rs"]
mod document;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for path in ["a.gotmpl", "skprompt.txt", "a.txt"] {
        document::check(path, bytes);
    }
});
