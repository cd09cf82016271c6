//! Prompts that LangChain saved: the old form with `_type`, and the new one with `lc`.

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
    source::Source,
};

/// Reads a prompt of LangChain.
pub(super) fn read(source: &Source, root: &Value<'_>) -> Option<Found> {
    let mut found = Found::new(Format::LangChain);
    if root.get("lc").is_some() {
        constructed(source, root, &mut found)?;
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
    saved(source, root, &mut found);
    Some(found)
}

fn saved(source: &Source, root: &Value<'_>, found: &mut Found) {
    let messages = root.get("messages").map(Value::items).unwrap_or_default();
    if !messages.is_empty() {
        return chat(source, messages, root, found);
    }
    if let Some(template) = root.get("template").and_then(Value::text) {
        if let Some(dialect) = dialect(root, found) {
            found.drafts.push(single(source, template, dialect));
        }
        return;
    }
    let examples = root
        .get("example_prompt")
        .and_then(|prompt| prompt.get("template"));
    // Examples that are chosen for each request are other values than those that stand in the file.
    let are_fixed = root
        .get("examples")
        .is_some_and(|list| !list.items().is_empty());
    let parts = [root.get("prefix"), examples, root.get("suffix")];
    let texts: Vec<(usize, &Text<'_>)> = parts
        .into_iter()
        .enumerate()
        .filter_map(|(index, part)| Some((index, part?.text()?)))
        .collect();
    if texts.is_empty() {
        let message = "the prompt's text is not in this file";
        return found.note(NoteKind::NotFollowed, root.span, message);
    }
    let Some(dialect) = dialect(root, found) else {
        return;
    };
    let mut assembly = Assembly::new(source);
    for (index, text) in texts {
        if index == 1 && are_fixed {
            assembly.example(text, Some(0));
        } else {
            assembly.text(text, Role::Other, Some(0));
        }
    }
    found.drafts.push(assembly.finish(dialect, None));
}

fn chat(source: &Source, messages: &[Value<'_>], root: &Value<'_>, found: &mut Found) {
    let mut assembly = Assembly::new(source);
    let mut format = root;
    let messages: Vec<Message<'_, '_>> = messages.iter().filter_map(message).collect();
    let last_user = messages
        .iter()
        .rposition(|message| message.role == Role::User && !message.is_history);
    let mut turn = 0;
    for (index, message) in messages.iter().enumerate() {
        if message.prompt.get("template_format").is_some() {
            format = message.prompt;
        }
        if !message.is_history {
            turn = index;
            assembly.text(message.text, message.role, Some(turn));
            continue;
        }
        // What an agent did since the user spoke belongs to that turn.
        if last_user.is_some_and(|last| index < last) {
            turn = index;
        }
        assembly.history(message.text, message.role, Some(turn));
    }
    if assembly.is_empty() {
        return;
    }
    if let Some(dialect) = dialect(format, found) {
        found.drafts.push(assembly.finish(dialect, None));
    }
}

/// A message of a chat, or the place of many.
struct Message<'v, 't> {
    role: Role,
    /// Its template, or the name of the messages that come here.
    text: &'v Text<'t>,
    is_history: bool,
    /// Where its language may be named.
    prompt: &'v Value<'t>,
}

fn message<'v, 't>(message: &'v Value<'t>) -> Option<Message<'v, 't>> {
    let fields = message.get("kwargs").unwrap_or(message);
    let mut prompt = fields.get("prompt").unwrap_or(fields);
    // Content may be a list of parts; the first one is the text.
    if let Some(first) = prompt.items().first() {
        prompt = first;
    }
    let prompt = prompt.get("kwargs").unwrap_or(prompt);
    let of = |role, text, is_history| Message {
        role,
        text,
        is_history,
        prompt,
    };
    if let Some(name) = fields.get("variable_name").and_then(Value::text) {
        return Some(of(Role::Other, name, true));
    }
    let template = ["template", "content"]
        .iter()
        .find_map(|key| prompt.get(key));
    let text = template.and_then(Value::text)?;
    // `("placeholder", "{history}")` is short for a class of that name.
    if ["role", "type"]
        .iter()
        .any(|key| fields.get_str(key) == Some("placeholder"))
    {
        return Some(of(Role::Other, text, true));
    }
    Some(of(speaker(message, fields), text, false))
}

/// The last name of the class that was saved: `MessagesPlaceholder`.
fn class<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    value.get("id")?.items().last()?.str()
}

fn speaker(message: &Value<'_>, fields: &Value<'_>) -> Role {
    let class = class(message);
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
fn constructed(source: &Source, root: &Value<'_>, found: &mut Found) -> Option<()> {
    let class = class(root)?;
    let fields = root.get("kwargs")?;
    if class.ends_with("PromptTemplate") || class == "StructuredPrompt" {
        saved(source, fields, found);
        return Some(());
    }
    // A chain: the prompt is its first step.
    constructed(source, fields.get("first")?, found)
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
