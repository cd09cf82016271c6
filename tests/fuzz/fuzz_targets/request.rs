//! Any text in the body of a request and in a YAML prompt: each character of it is found again.
#![no_main]

#[path = "shared/document.rs"]
mod document;

use headwater_template::{Span, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let quoted = serde_json::to_string(text).expect("a string is JSON");
    let body = format!(
        "{{\"model\": \"m\", \"messages\": [{{\"role\": \"user\", \"content\": {quoted}}}], \
         \"tools\": [{{\"name\": {quoted}, \"cache_control\": {{}}}}]}}"
    );
    document::check("body.json", body.as_bytes());
    // The text as it is, where only some of it is valid.
    document::check("body.json", text.as_bytes());
    let yaml = format!("_type: prompt\ntemplate: |\n  {}\n", text.replace('\n', "\n  "));
    document::check("p.yaml", yaml.as_bytes());
    let Ok(read) = read("body.json", body.as_bytes(), &|_| None) else {
        return;
    };
    let source = read.templates[0].source();
    let start = source.text().len() - text.len();
    assert!(source.text().ends_with(text));
    for (at, c) in text.char_indices() {
        let span = Span::new(start + at, start + at + c.len_utf8());
        let place = source.in_file(span);
        let written = &body[place.start..place.end];
        assert!(written == c.to_string() || written.starts_with('\\'), "{c:?} {written:?}");
    }
});
