//! A file and the prompts in it.

use std::sync::Arc;

use headwater_text::Span;

use crate::{
    dialect::Dialect,
    format::Format,
    formats::{Found, read_chat_text, read_json_file, read_prompt, read_prompty, read_yaml_file},
    language::{Guess, guess},
    problem::Problem,
    source::{Source, SourceError, SourceFile},
    template::{Draft, Template},
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
    /// In words, lower case. Names in it are escaped: safe to print.
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

impl NoteKind {
    /// `unknown-language`, `unsupported-language`, `not-followed` or `cycle`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownLanguage => "unknown-language",
            Self::UnsupportedLanguage => "unsupported-language",
            Self::NotFollowed => "not-followed",
            Self::Cycle => "cycle",
        }
    }
}

/// What a name says about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// It is in this language.
    Certain(Dialect),
    /// It is in this language unless it has marks of another one.
    Usually(Dialect),
    /// Any language, or none.
    Open,
    Prompty,
    Prompt,
    Json,
    Yaml,
    Unsupported(&'static str),
    Nothing,
}

/// The name says that the file may hold prompts; if it is JSON or YAML, only its text tells.
pub fn may_hold_prompts(path: &str) -> bool {
    named(file_name(path)) != Named::Nothing
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
    let file = Arc::new(SourceFile::from_bytes(bytes)?);
    let name = file_name(path);
    let mut found = find(&file, name);
    let mut templates = Vec::new();
    for draft in found.drafts {
        let mut notes = Vec::new();
        let template = draft.finish(load, &mut notes);
        found.notes.extend(notes.into_iter().map(|note| Note {
            span: template.source().in_file(note.span),
            ..note
        }));
        templates.push(template);
    }
    if found.format == Format::Jinja && templates.iter().any(Template::is_chat_template) {
        found.format = Format::ChatTemplate;
    }
    found.notes.sort_by_key(|note| note.span);
    Ok(Document {
        file,
        format: found.format,
        templates,
        problems: found.problems,
        notes: found.notes,
    })
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn named(name: &str) -> Named {
    let lower = name.to_ascii_lowercase();
    let extension = lower
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension);
    match extension {
        "txt" if lower == "skprompt.txt" || lower.ends_with(".skprompt.txt") => {
            Named::Certain(Dialect::SemanticKernel)
        }
        "j2" | "jinja" | "jinja2" => Named::Certain(Dialect::Jinja),
        "hbs" | "handlebars" => Named::Certain(Dialect::Handlebars),
        "mustache" => Named::Certain(Dialect::Mustache),
        "gotmpl" => Named::Certain(Dialect::Go),
        "tmpl" | "tpl" => Named::Usually(Dialect::Go),
        "md" | "txt" => Named::Open,
        "prompt" => Named::Prompt,
        "prompty" => Named::Prompty,
        "json" => Named::Json,
        "yaml" | "yml" => Named::Yaml,
        "liquid" => Named::Unsupported("Liquid"),
        "poml" => Named::Unsupported("POML"),
        "baml" => Named::Unsupported("BAML"),
        "ejs" => Named::Unsupported("EJS"),
        _ => Named::Nothing,
    }
}

fn find(file: &Arc<SourceFile>, name: &str) -> Found {
    match named(name) {
        Named::Certain(dialect) => {
            read_chat_text(file).unwrap_or_else(|| whole(file, dialect, dialect.format()))
        }
        Named::Usually(dialect) => match guess(file.text()) {
            Guess::Certain(Dialect::Plain) | Guess::Likely(_) => {
                whole(file, dialect, dialect.format())
            }
            guess => guessed(file, guess),
        },
        Named::Open => {
            read_chat_text(file).unwrap_or_else(|| guessed(file, guess(body(file.text()))))
        }
        Named::Prompty => one(Format::Prompty, read_prompty(file)),
        Named::Prompt => match read_prompt(file) {
            Some((format, draft)) => one(format, draft),
            None => guessed(file, guess(body(file.text()))),
        },
        Named::Json => read_json_file(file, name).unwrap_or_else(nothing),
        Named::Yaml => read_yaml_file(file, name).unwrap_or_else(nothing),
        Named::Unsupported(language) => Found::new(Format::Unsupported(language)),
        Named::Nothing => nothing(),
    }
}

fn nothing() -> Found {
    Found::new(Format::NotATemplate)
}

/// Front matter is not in the language of what it stands over.
fn body(text: &str) -> &str {
    &text[crate::front_matter::end(text)..]
}

fn one(format: Format, draft: Draft) -> Found {
    let mut found = Found::new(format);
    found.drafts.push(draft);
    found
}

fn whole(file: &Arc<SourceFile>, dialect: Dialect, format: Format) -> Found {
    let draft = Draft::new(Source::whole(Arc::clone(file)), dialect);
    one(format, draft.with_front_matter())
}

/// A language that only the text tells. What does not fit it is not wrong, it may be another one.
fn guessed(file: &Arc<SourceFile>, guess: Guess) -> Found {
    match guess {
        Guess::Certain(Dialect::Jinja) => whole(file, Dialect::Jinja, Format::Jinja),
        Guess::Certain(dialect) if fits(file, dialect) => whole(file, dialect, dialect.format()),
        Guess::Likely(dialect) => {
            let also = [dialect, Dialect::Handlebars];
            match also.into_iter().find(|dialect| fits(file, *dialect)) {
                Some(Dialect::StrFormat) => whole(file, Dialect::StrFormat, Format::StrFormat),
                Some(dialect) => {
                    let mut found = whole(file, dialect, dialect.format());
                    note(
                        file,
                        &mut found,
                        "so its values are read as plain variables",
                    );
                    found
                }
                None => unknown(file),
            }
        }
        Guess::Unsupported(language) => Found::new(Format::Unsupported(language)),
        Guess::Certain(_) | Guess::Unknown => unknown(file),
    }
}

fn fits(file: &Arc<SourceFile>, dialect: Dialect) -> bool {
    let template = Template::parse(Source::whole(Arc::clone(file)), dialect);
    template.problems().is_empty()
}

fn unknown(file: &Arc<SourceFile>) -> Found {
    let mut found = whole(file, Dialect::Plain, Format::Unknown);
    note(file, &mut found, "so only its characters are judged");
    found
}

fn note(file: &Arc<SourceFile>, found: &mut Found, so: &str) {
    let at = file.text().find("{{").unwrap_or(0);
    let message = format!(
        "unknown template language: no mark in it belongs to one language alone, {so}; name the file \
         after its language (.j2, .hbs, .gotmpl)"
    );
    found.notes.push(Note {
        kind: NoteKind::UnknownLanguage,
        span: Span::new(at, (at + 2).min(file.text().len())),
        message,
    });
}
