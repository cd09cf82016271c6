//! A document that is open in the editor.

use std::path::PathBuf;

use headwater_lint::{Checked, Input, Outcome, Repair, Safety};

use crate::lint::{included, settings::FileSettings, shown_path};

/// Its text as the editor has it, saved or not.
pub(super) struct Document {
    pub(super) path: PathBuf,
    pub(super) version: i32,
    pub(super) text: String,
    /// What was found in it, and the settings by which; none if it cannot be judged.
    pub(super) checked: Option<(Outcome, FileSettings)>,
}

impl Document {
    /// Judges the text.
    pub(super) fn judge(&self, settings: &FileSettings) -> Checked {
        self.with_input(settings, |input| settings.linter.check_input(input))
    }

    /// The text with all safe fixes; none if there is nothing to fix.
    pub(super) fn repaired(&self) -> Option<String> {
        let (_, settings) = self.checked.as_ref()?;
        let repair: Repair = self.with_input(settings, |input| {
            settings.linter.repair(input, Safety::Safe)
        })?;
        (!repair.applied.is_empty()).then_some(repair.text)
    }

    fn with_input<T>(&self, settings: &FileSettings, work: impl FnOnce(&Input<'_>) -> T) -> T {
        let path = shown_path(&self.path);
        let load = |name: &str| included(&self.path, &settings.roots, name);
        let mut input = Input::alone(&path, self.text.as_bytes(), &settings.declared);
        input.load = &load;
        work(&input)
    }
}

/// The path of a URI. A document without a file gets the ending of its language.
pub(super) fn path(uri: &str, language: &str) -> PathBuf {
    let Some(rest) = uri.strip_prefix("file://") else {
        let ending = match language {
            "markdown" => "md",
            "plaintext" => "txt",
            "handlebars" => "hbs",
            "mustache" => "mustache",
            "yaml" => "yaml",
            "json" => "json",
            _ => "j2",
        };
        return PathBuf::from(format!("untitled.{ending}"));
    };
    // What stands before the path is the name of a host, and empty.
    let path = rest.find('/').map_or(rest, |at| &rest[at..]);
    PathBuf::from(unescaped(path))
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).and_then(|hex| str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_paths() {
        for (uri, language, expected) in [
            ("file:///a/b%20c.j2", "jinja", "/a/b c.j2"),
            ("file://localhost/a.j2", "jinja", "/a.j2"),
            ("file:///caf%C3%A9.md", "markdown", "/café.md"),
            ("untitled:Untitled-1", "markdown", "untitled.md"),
            ("untitled:Untitled-1", "jinja-html", "untitled.j2"),
        ] {
            assert_eq!(path(uri, language), PathBuf::from(expected), "{uri}");
        }
    }
}
