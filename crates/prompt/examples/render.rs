//! Renders chat templates for tests/templates/public: reads lines
//! `{"template": path, "values": JSON text}` and answers each with `{"text": …}` or `{"error": …}`.

use std::error::Error;
use std::io::{BufRead, Write};

use headwater::templates::{ChatTemplate, Moment, RenderOptions, Source, Values};
use serde_json::json;

/// One line of the input.
#[derive(serde::Deserialize)]
struct Job {
    /// Path of the file.
    template: String,
    /// As text, so that no reader sorts the keys.
    values: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = RenderOptions {
        now: Moment::date(2024, 7, 4).and_then(|day| day.at(15, 5, 9)),
        ..RenderOptions::default()
    };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let job: Job = serde_json::from_str(&line?)?;
        let answer = match render(&job, &options) {
            Ok(text) => json!({"text": text}),
            Err(error) => json!({"error": error.to_string()}),
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

fn render(job: &Job, options: &RenderOptions) -> Result<String, Box<dyn Error>> {
    let source = Source::from_bytes(&std::fs::read(&job.template)?)?;
    let values = Values::from_json(&job.values)?;
    Ok(ChatTemplate::compile(source)?.render(&values, options)?)
}
