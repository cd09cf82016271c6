//! A file and the prompts in it.

use std::sync::Arc;

use headwater_text::Span;

use crate::{
    dialect::{Recognition, recognize},
    format::Format,
    problem::Problem,
    source::{Source, SourceError, SourceFile},
    template::Template,
};

/// A file that was read, with every prompt in it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Document {
    /// The file.
    pub file: Arc<SourceFile>,
    /// Its form.
    pub format: Format,
    /// The prompts in it, in order of the file.
    pub templates: Vec<Template>,
    /// What kept the file itself from being understood, in bytes of the file. A template has its own.
    pub problems: Vec<Problem>,
    /// What was not judged though it may matter.
    pub notes: Vec<Note>,
}

/// Something that was seen and not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// What it is about.
    pub kind: NoteKind,
    /// Where, in bytes of the file.
    pub span: Span,
    /// In words, lower case.
    pub message: String,
}

/// Kinds of [`Note`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteKind {
    /// The file may be a template, in a language that could not be told.
    UnknownLanguage,
    /// A prompt in it is written in a language that is not parsed.
    UnsupportedLanguage,
    /// It names another file that was not read.
    NotFollowed,
    /// Templates that include each other.
    Cycle,
}

/// Reads a file. `load` gives the bytes of another file that a template names, as it names it.
///
/// # Errors
/// The bytes are too many or not UTF-8. All else is in the document.
pub fn read(
    path: &str,
    bytes: &[u8],
    load: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Result<Document, SourceError> {
    let _ = load;
    let file = Arc::new(SourceFile::from_bytes(bytes)?);
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let mut document = Document {
        file: Arc::clone(&file),
        format: Format::NotATemplate,
        templates: Vec::new(),
        problems: Vec::new(),
        notes: Vec::new(),
    };
    match recognize(name, file.text()) {
        Recognition::Known(dialect) => {
            document.format = dialect.format();
            let template = Template::parse(Source::whole(file), dialect);
            document.templates.push(template);
        }
        Recognition::Unsupported(language) => document.format = Format::Unsupported(language),
        Recognition::NotATemplate => {}
    }
    Ok(document)
}
