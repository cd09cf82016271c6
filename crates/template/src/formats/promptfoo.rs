//! Configurations of promptfoo, and chats as a list of messages with variables in them.

use super::{
    Found,
    assembly::{Assembly, are_messages, content, decoded, role, single},
};
use crate::{
    container::{Data, Text, Value, read_json, read_yaml},
    dialect::Dialect,
    document::NoteKind,
    format::Format,
    language::{Guess, guess},
    source::Source,
};

/// Keys that stand beside `prompts` in a configuration.
const BESIDE: [&str; 9] = [
    "providers",
    "targets",
    "tests",
    "scenarios",
    "defaultTest",
    "redteam",
    "description",
    "$schema",
    "evaluateOptions",
];
/// Ends of names of files that hold prompts.
const FILES: [&str; 13] = [
    ".txt", ".json", ".jsonl", ".yaml", ".yml", ".md", ".j2", ".jinja", ".js", ".ts", ".mjs",
    ".py", ".csv",
];

/// Reads `prompts`, or a list of messages.
pub(super) fn read(source: &Source, name: &str, root: &Value<'_>) -> Option<Found> {
    if are_messages(root) {
        let mut found = Found::new(Format::Promptfoo);
        chat(source, root, &mut found);
        return Some(found);
    }
    let prompts = root.get("prompts")?;
    let is_config = name.starts_with("promptfooconfig") || is_beside(|key| root.get(key).is_some());
    if !is_config {
        return None;
    }
    let mut found = Found::new(Format::Promptfoo);
    match &prompts.data {
        Data::List(items) => {
            for (index, item) in items.iter().enumerate() {
                prompt(source, item, &format!("prompts[{index}]"), &mut found);
            }
        }
        Data::Map(pairs) => {
            for (key, value) in pairs {
                // A map leads from files or texts to labels.
                let label = value.str().unwrap_or(key.value.as_ref()).to_owned();
                text(source, key, &label, &mut found);
            }
        }
        _ => prompt(source, prompts, "prompts", &mut found),
    }
    Some(found)
}

fn prompt(source: &Source, item: &Value<'_>, label: &str, found: &mut Found) {
    if let Some(said) = item.text() {
        return text(source, said, label, found);
    }
    if are_messages(item) {
        return chat(source, item, found);
    }
    let own = item.get_str("label").unwrap_or(label);
    let raw = ["raw", "prompt", "template", "id"]
        .iter()
        .find_map(|key| item.get(key));
    match raw {
        Some(raw) if raw.text().is_some() => prompt(source, raw, own, found),
        Some(raw) if are_messages(raw) => chat(source, raw, found),
        _ => {
            let message = format!("`{}` holds no prompt as text", headwater_text::shown(own));
            found.note(NoteKind::NotFollowed, item.span, message);
        }
    }
}

fn text(source: &Source, text: &Text<'_>, label: &str, found: &mut Found) {
    if is_file(&text.value) {
        let name = headwater_text::shown(&text.value);
        let message = format!("`{name}` is a file of its own; lint it under its own name");
        return found.note(NoteKind::NotFollowed, text.span, message);
    }
    if let Some(inner) = chat_in(&decoded(source, text)) {
        for mut draft in inner.drafts {
            draft.label = Some(label.to_owned());
            found.drafts.push(draft);
        }
        return;
    }
    let mut draft = single(source, text, Dialect::Jinja);
    let said = draft.source.text();
    draft.is_json_chat = said.trim_start().starts_with('[') && said.contains("\"role\"");
    draft.label = Some(label.to_owned());
    found.drafts.push(draft);
}

/// Reads a text that is a chat: a list of messages in JSON, or in YAML that begins with a role.
pub(super) fn chat_in(source: &Source) -> Option<Found> {
    let text = source.text();
    let start = text.trim_start_matches('\u{FEFF}').trim_start();
    let mut found = Found::new(Format::Promptfoo);
    if start.starts_with('[') && start.contains("\"role\"") {
        let root = read_json(text).ok()?;
        are_messages(&root).then(|| chat(source, &root, &mut found))?;
    } else if start.starts_with("- role:") {
        // With the indentation of its first line, which is that of the others.
        let blank = text.len() - start.len();
        let line = text[..blank].rfind('\n').map_or(0, |at| at + 1);
        let yaml = read_yaml(&text[line..], line);
        let root = yaml.documents.first().filter(|_| yaml.problem.is_none())?;
        are_messages(root).then(|| chat(source, root, &mut found))?;
    } else {
        return None;
    }
    Some(found)
}

/// One of the keys that stand beside `prompts` is there.
pub(super) fn is_beside(has: impl Fn(&str) -> bool) -> bool {
    BESIDE.iter().any(|key| has(key))
}

fn is_file(text: &str) -> bool {
    let is_word = !text.contains(['\n', ' ', '{']);
    let path = text.split([':', '?']).next().unwrap_or(text);
    text.starts_with("file://")
        || text.starts_with("exec:")
        || is_word && FILES.iter().any(|end| path.ends_with(end))
        || is_word && text.contains("://")
}

/// A list of messages, in the language that the marks in it tell.
fn chat(source: &Source, messages: &Value<'_>, found: &mut Found) {
    let mut assembly = Assembly::new(source);
    for (index, message) in messages.items().iter().enumerate() {
        if let Some(value) = message.get("content") {
            content(&mut assembly, value, role(message), Some(index));
        }
    }
    if assembly.is_empty() {
        return;
    }
    let dialect = match guess(assembly.decoded()) {
        Guess::Certain(Dialect::StrFormat) | Guess::Likely(Dialect::StrFormat) => Dialect::Plain,
        Guess::Certain(dialect) | Guess::Likely(dialect) => dialect,
        Guess::Unsupported(_) | Guess::Unknown => Dialect::Plain,
    };
    found.drafts.push(assembly.finish(dialect, None));
}
