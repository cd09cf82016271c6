//! What `headwater sign` prints for people and for curl.

use std::fmt::Write;
use std::path::Path;

use headwater::text::shown;
use headwater::{SignedPrompt, Warning, WarningKind};

/// A signed prompt with what was used to sign it.
pub(crate) struct Report<'a> {
    pub(crate) file: &'a str,
    pub(crate) tokenizer: &'a str,
    pub(crate) signed: &'a SignedPrompt,
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
        let messages = match signed.messages() {
            Some(messages) => format!("{} messages", messages.len()),
            None => "plain text".to_owned(),
        };
        format!(
            "prompt     {}, {messages}, {} bytes\n\
             tokenizer  {}\n\
             {}",
            self.file,
            signed.text().len(),
            self.tokenizer,
            signed.report(),
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

    pub(super) fn headers(&self) -> [(String, String); 2] {
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

pub(super) fn warning(warning: &Warning) -> String {
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

pub(super) fn code_point(c: char) -> String {
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
