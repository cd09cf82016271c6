//! The forms of files that hold prompts in strings, each read into drafts of templates.

mod assembly;
mod langchain;
mod prompt_file;
mod promptfoo;
mod request;
mod semantic_kernel;
mod tokenizer_config;

use std::sync::Arc;

use headwater_text::Span;

pub(crate) use self::prompt_file::{read_prompt, read_prompty};
use crate::{
    container::{Value, read_json, read_yaml},
    document::{Note, NoteKind},
    format::Format,
    problem::Problem,
    source::{Source, SourceFile},
    template::Draft,
};

/// What was found in a file of JSON or YAML.
pub(crate) struct Found {
    pub(crate) format: Format,
    pub(crate) drafts: Vec<Draft>,
    /// In bytes of the file.
    pub(crate) notes: Vec<Note>,
    /// In bytes of the file.
    pub(crate) problems: Vec<Problem>,
}

impl Found {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            drafts: Vec::new(),
            notes: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Adds what another document of the file holds.
    fn append(&mut self, mut other: Self) {
        self.drafts.append(&mut other.drafts);
        self.notes.append(&mut other.notes);
        self.problems.append(&mut other.problems);
    }

    fn note(&mut self, kind: NoteKind, span: Span, message: impl Into<String>) {
        self.notes.push(Note {
            kind,
            span,
            message: message.into(),
        });
    }
}

/// Keys without one of which no form is recognised.
const KEYS: [&str; 9] = [
    "chat_template",
    "_type",
    "prompts",
    "messages",
    "input",
    "template",
    "role",
    "\"lc\"",
    "contents",
];

/// Reads a JSON file, if it is of a form that holds prompts.
pub(crate) fn read_json_file(file: &Arc<SourceFile>, name: &str) -> Option<Found> {
    if !may_hold_prompts(file.text()) {
        return None;
    }
    match read_json(file.text()) {
        Ok(root) => read_value(&Source::whole(Arc::clone(file)), name, &root),
        Err(problem) => unreadable(name, problem),
    }
}

/// Reads a YAML file, if one of its documents is of a form that holds prompts.
pub(crate) fn read_yaml_file(file: &Arc<SourceFile>, name: &str) -> Option<Found> {
    if !may_hold_prompts(file.text()) {
        return None;
    }
    let text = file.text();
    let start = text.len() - text.trim_start_matches('\u{FEFF}').len();
    let yaml = read_yaml(&text[start..], start);
    let source = Source::whole(Arc::clone(file));
    let documents = yaml.documents.iter();
    let mut all = documents.filter_map(|root| read_value(&source, name, root));
    let mut found = all.next();
    if let Some(found) = &mut found {
        all.for_each(|more| found.append(more));
    }
    match (found, yaml.problem) {
        (Some(mut found), problem) => {
            found.problems.extend(problem);
            Some(found)
        }
        (None, Some(problem)) if yaml.is_too_long && names_prompts(text) => {
            let mut found = Found::new(Format::Promptfoo);
            found.problems.push(problem);
            Some(found)
        }
        (None, problem) => unreadable(name, problem?),
    }
}

/// Reads a text that is nothing but messages of a chat, as JSON or YAML; promptfoo takes any file so.
pub(crate) fn read_chat_text(file: &Arc<SourceFile>) -> Option<Found> {
    promptfoo::chat_in(&Source::whole(Arc::clone(file)))
}

fn may_hold_prompts(text: &str) -> bool {
    KEYS.iter().any(|key| text.contains(key))
}

/// The keys at the start of lines are those of a file of prompts, as far as a text tells that is not
/// parsed.
fn names_prompts(text: &str) -> bool {
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    has("messages:")
        || has("_type:")
        || has("- role:")
        || has("prompts:") && promptfoo::is_beside(has)
}

/// A file that is not valid is only a file of prompts if its name says so.
fn unreadable(name: &str, problem: Problem) -> Option<Found> {
    let format = match name {
        "tokenizer_config.json" | "chat_template.json" => Format::TokenizerConfig,
        _ if name.starts_with("promptfooconfig") => Format::Promptfoo,
        _ if name.ends_with(".prompt.yml") || name.ends_with(".prompt.yaml") => Format::Promptfoo,
        _ => return None,
    };
    let mut found = Found::new(format);
    found.problems.push(problem);
    Some(found)
}

fn read_value(source: &Source, name: &str, root: &Value<'_>) -> Option<Found> {
    tokenizer_config::read(source, root)
        .or_else(|| langchain::read(source, root))
        .or_else(|| promptfoo::read(source, name, root))
        .or_else(|| request::read(source, root))
        .or_else(|| semantic_kernel::read(source, root))
}
