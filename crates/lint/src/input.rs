//! One input from its bytes to its findings.

use std::collections::BTreeMap;

use headwater_template::{
    Recognition, Source, SourceError, SourceErrorKind, Template, Volatility, recognize,
};

use crate::{linter::Linter, report::Outcome};

/// The most bytes of an input that are read. A caller need not load more than one byte more.
pub const MAX_INPUT_BYTES: usize = headwater_template::MAX_SOURCE_BYTES;

/// What became of an input.
#[derive(Debug)]
#[non_exhaustive]
pub enum Checked {
    /// It was judged.
    Judged(Outcome),
    /// It cannot be read: `line:column`, what is wrong, what was expected.
    Unreadable(String),
    /// It is a template in a language that is not parsed yet; the language.
    Unsupported(&'static str),
    /// Nothing about it says that it is a template.
    NotATemplate,
}

impl Linter {
    /// Judges the bytes of a file; `declared` is what its folder says about variables.
    pub fn check(
        &self,
        path: &str,
        bytes: &[u8],
        declared: &BTreeMap<String, Volatility>,
    ) -> Checked {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        // Bytes that are no text tell nothing about the language; the name may.
        let source = Source::from_bytes(bytes);
        let text = source.as_ref().map(Source::text).unwrap_or_default();
        let dialect = match recognize(name, text) {
            Recognition::Known(dialect) => dialect,
            Recognition::Unsupported(language) => return Checked::Unsupported(language),
            _ => return Checked::NotATemplate,
        };
        let source = match source {
            Ok(source) => source,
            Err(error) => return Checked::Unreadable(in_words(&error)),
        };
        let template = Template::parse(source, dialect).with_declared(declared);
        if let Some(problem) = template.problems().first() {
            let position = template.source().position(problem.span.start);
            return Checked::Unreadable(format!("{position}: {}", problem.message));
        }
        Checked::Judged(Outcome {
            path: path.to_owned(),
            text: template.source().text().to_owned(),
            findings: self.lint(&template),
        })
    }
}

fn in_words(error: &SourceError) -> String {
    match error.kind {
        SourceErrorKind::NotUtf8 { byte: 0xFE | 0xFF } if error.position.column == 1 => {
            format!("{error} (this looks like UTF-16)")
        }
        _ => error.to_string(),
    }
}
