//! What `headwater sign` prints. The JSON form is described field by field by its structs.

use std::fmt::Write;
use std::path::Path;

use headwater::text::{Action, shown};
use headwater::{SignedPrompt, Warning, WarningKind};
use serde::Serialize;
use serde_json::{Map, Value};

/// A signed prompt with what was used to sign it.
pub(crate) struct Report<'a> {
    pub(crate) file: &'a str,
    pub(crate) tokenizer: &'a str,
    pub(crate) signed: &'a SignedPrompt,
}

/// Format `json`, version 1: members are added, never renamed.
#[derive(Serialize)]
struct Json<'a> {
    text: &'a str,
    /// Absent for a prompt without roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Value>,
    tokens: u32,
    /// Whole blocks.
    blocks: u32,
    block_size: u32,
    tokenizer: &'a str,
    fingerprint: String,
    rungs: Vec<JsonRung>,
    changes: Vec<JsonChange>,
    warnings: Vec<String>,
    headers: Map<String, Value>,
}

#[derive(Serialize)]
struct JsonRung {
    blocks: u32,
    hash: String,
}

/// Line and column are those of the segment's text, from 1.
#[derive(Serialize)]
struct JsonChange {
    segment: usize,
    line: usize,
    column: usize,
    step: &'static str,
    action: &'static str,
    /// `U+200B`; null where something was inserted.
    code_point: Option<String>,
}

impl Report<'_> {
    /// For people. `written` is where the text went, if not here.
    pub(crate) fn text(&self, written: Option<&Path>) -> String {
        let mut page = self.summary();
        page.push_str(&self.findings());
        match written {
            Some(path) => page.push_str(&format!("text       written to {}\n", path.display())),
            None => page.push_str(&framed(self.signed.text())),
        }
        page.push('\n');
        for (name, value) in self.headers() {
            page.push_str(&format!("{name}: {value}\n"));
        }
        page
    }

    /// One object, for programs.
    pub(crate) fn json(&self) -> anyhow::Result<String> {
        let signature = self.signed.signature();
        let headers = self.headers().into_iter();
        let json = Json {
            text: self.signed.text(),
            messages: self.signed.messages_json(),
            tokens: self.signed.tokens(),
            blocks: self.signed.blocks(),
            block_size: signature.block().get(),
            tokenizer: self.tokenizer,
            fingerprint: signature.fingerprint().to_string(),
            rungs: signature.rungs().iter().map(json_rung).collect(),
            changes: self.signed.changes().iter().map(json_change).collect(),
            warnings: self.signed.warnings().iter().map(warning).collect(),
            headers: headers
                .map(|(name, value)| (name, Value::String(value)))
                .collect(),
        };
        Ok(serde_json::to_string_pretty(&json)? + "\n")
    }

    /// One `-H 'Name: value'` a line. Header values have no quotes and no line ends, so single
    /// quotes protect them from a shell and from xargs.
    pub(crate) fn curl(&self) -> String {
        self.headers()
            .into_iter()
            .map(|(name, value)| format!("-H '{name}: {value}'\n"))
            .collect()
    }

    fn summary(&self) -> String {
        let signed = self.signed;
        let block = signed.signature().block().get();
        let messages = match signed.messages() {
            Some(messages) => format!("{} messages", messages.len()),
            None => "plain text".to_owned(),
        };
        let rungs: Vec<String> = signed
            .signature()
            .rungs()
            .iter()
            .map(|rung| rung.blocks.to_string())
            .collect();
        let rungs = if rungs.is_empty() {
            "none, shorter than a block".to_owned()
        } else {
            rungs.join(" ")
        };
        format!(
            "prompt     {}, {messages}, {} bytes\n\
             tokenizer  {}\n\
             tokens     {}: {} whole blocks of {block} and {} more\n\
             rungs      {rungs}\n",
            self.file,
            signed.text().len(),
            self.tokenizer,
            signed.tokens(),
            signed.blocks(),
            signed.tokens() - signed.blocks() * block,
        )
    }

    fn findings(&self) -> String {
        let changes = self.signed.changes();
        let mut lines = format!("cleaning   {}\n", counted(changes.len(), "change"));
        for change in changes {
            let _ = writeln!(lines, "  segment {}, {}", change.segment, change.change);
        }
        for found in self.signed.warnings() {
            let _ = writeln!(lines, "  warning: {}", warning(found));
        }
        lines
    }

    fn headers(&self) -> [(String, String); 2] {
        self.signed
            .headers()
            .map(|(name, value)| (title_case(name), value))
    }
}

/// The text between rules. What cannot be seen is shown by its number, so nothing in a prompt can
/// drive the terminal.
fn framed(text: &str) -> String {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!(
        "---- text ----\n{}{end}---- end of text ----\n",
        shown(text)
    )
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

fn warning(warning: &Warning) -> String {
    let what = match &warning.kind {
        WarningKind::Invisible(sighting) => {
            format!(
                "{} is kept; look whether it belongs there",
                code_point(sighting.code_point)
            )
        }
        WarningKind::Marker(marker) => {
            format!("the text contains the message marker `{marker}`; it is kept as text")
        }
        WarningKind::Empty => "the segment is empty".to_owned(),
        _ => "look at this place".to_owned(),
    };
    format!("{}, {}: {what}", warning.segment, warning.position)
}

fn json_rung(rung: &headwater::signature::Rung) -> JsonRung {
    JsonRung {
        blocks: rung.blocks,
        hash: rung.hash.to_string(),
    }
}

fn json_change(change: &headwater::Change) -> JsonChange {
    let headwater::Change {
        segment, change, ..
    } = change;
    JsonChange {
        segment: *segment,
        line: change.position.line,
        column: change.position.column,
        step: change.step.as_str(),
        action: Action::as_str(change.action),
        code_point: change.code_point.map(code_point),
    }
}

fn code_point(c: char) -> String {
    format!("U+{:04X}", u32::from(c))
}

/// `prefix-signature` → `Prefix-Signature`, as people write it.
fn title_case(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase())
            .into_iter()
            .chain(letters)
            .collect::<String>()
    };
    name.split('-').map(word).collect::<Vec<_>>().join("-")
}
