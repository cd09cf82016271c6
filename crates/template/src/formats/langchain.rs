//! Prompts that LangChain saved: the old form with `_type`, and the new one with `lc`.

use std::sync::Arc;

use super::{
    Found,
    assembly::{Assembly, single},
};
use crate::{
    container::{Text, Value},
    dialect::Dialect,
    document::NoteKind,
    format::Format,
    role::Role,
    source::SourceFile,
};

/// Reads a prompt of LangChain.
pub(super) fn read(file: &Arc<SourceFile>, root: &Value<'_>) -> Option<Found> {
    let mut found = Found::new(Format::LangChain);
    if root.get("lc").is_some() {
        constructed(file, root, &mut found)?;
        return Some(found);
    }
    let kind = root.get_str("_type");
    let is_list_of_names =
        |value: &Value<'_>| value.items().iter().all(|item| item.text().is_some());
    let is_prompt = match kind {
        Some("prompt" | "few_shot" | "chat") => true,
        Some(_) => false,
        None => {
            root.get("template")
                .is_some_and(|value| value.text().is_some())
                && root.get("input_variables").is_some_and(is_list_of_names)
        }
    };
    if !is_prompt {
        return None;
    }
    saved(file, root, &mut found);
    Some(found)
}

fn saved(file: &Arc<SourceFile>, root: &Value<'_>, found: &mut Found) {
    let messages = root.get("messages").map(Value::items).unwrap_or_default();
    if !messages.is_empty() {
        return chat(file, messages, root, found);
    }
    if let Some(template) = root.get("template").and_then(Value::text) {
        if let Some(dialect) = dialect(root, found) {
            found.drafts.push(single(file, template, dialect));
        }
        return;
    }
    let examples = root
        .get("example_prompt")
        .and_then(|prompt| prompt.get("template"));
    let parts = [root.get("prefix"), examples, root.get("suffix")];
    let texts: Vec<&Text<'_>> = parts
        .into_iter()
        .flatten()
        .filter_map(Value::text)
        .collect();
    if texts.is_empty() {
        let message = "the prompt's text is not in this file";
        return found.note(NoteKind::NotFollowed, root.span, message);
    }
    let Some(dialect) = dialect(root, found) else {
        return;
    };
    let mut assembly = Assembly::new(file);
    for text in texts {
        assembly.text(text, Role::Other, Some(0));
    }
    found.drafts.push(assembly.finish(dialect, None));
}

fn chat(file: &Arc<SourceFile>, messages: &[Value<'_>], root: &Value<'_>, found: &mut Found) {
    let mut assembly = Assembly::new(file);
    let mut format = root;
    for (index, message) in messages.iter().enumerate() {
        let fields = message.get("kwargs").unwrap_or(message);
        let prompt = fields.get("prompt").unwrap_or(fields);
        let prompt = prompt.get("kwargs").unwrap_or(prompt);
        let template = ["template", "content"]
            .iter()
            .find_map(|key| prompt.get(key));
        let Some(text) = template.and_then(Value::text) else {
            continue;
        };
        if prompt.get("template_format").is_some() {
            format = prompt;
        }
        assembly.text(text, speaker(message, fields), Some(index));
    }
    if assembly.is_empty() {
        return;
    }
    if let Some(dialect) = dialect(format, found) {
        found.drafts.push(assembly.finish(dialect, None));
    }
}

fn speaker(message: &Value<'_>, fields: &Value<'_>) -> Role {
    let class = message.get("id").and_then(|id| id.items().last()?.str());
    let named = ["role", "type", "_type"]
        .iter()
        .find_map(|key| fields.get_str(key));
    let name = class.or(named).unwrap_or_default().to_ascii_lowercase();
    let known = [
        ("system", Role::System),
        ("human", Role::User),
        ("user", Role::User),
        ("ai", Role::Assistant),
        ("assistant", Role::Assistant),
        ("tool", Role::Tool),
    ];
    let role = known.iter().find(|(start, _)| name.starts_with(start));
    role.map_or(Role::Other, |(_, role)| *role)
}

/// `{"lc": 1, "id": […, "ChatPromptTemplate"], "kwargs": {…}}`
fn constructed(file: &Arc<SourceFile>, root: &Value<'_>, found: &mut Found) -> Option<()> {
    let class = root.get("id")?.items().last()?.str()?;
    let fields = root.get("kwargs")?;
    class
        .ends_with("PromptTemplate")
        .then(|| saved(file, fields, found))
}

/// The language that `template_format` names.
fn dialect(value: &Value<'_>, found: &mut Found) -> Option<Dialect> {
    match value.get_str("template_format") {
        None | Some("f-string") => Some(Dialect::StrFormat),
        Some("jinja2") => Some(Dialect::Jinja),
        Some("mustache") => Some(Dialect::Mustache),
        Some(other) => {
            let other = headwater_text::shown(other);
            let message = format!("templates in `{other}` cannot be judged yet");
            found.note(NoteKind::UnsupportedLanguage, value.span, message);
            None
        }
    }
}
