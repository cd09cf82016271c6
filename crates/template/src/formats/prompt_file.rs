//! Prompty and dotprompt: front matter over a body with roles.

use std::sync::Arc;

use headwater_text::Span;

use crate::{
    container::{Value, read_yaml},
    dialect::Dialect,
    format::Format,
    front_matter,
    language::{Guess, guess},
    source::{Source, SourceFile},
    template::Draft,
};

/// Keys of which a dotprompt's front matter has one.
const DOTPROMPT: [&str; 8] = [
    "model",
    "input",
    "output",
    "config",
    "tools",
    "variant",
    "metadata",
    "toolConfig",
];

/// Reads a `.prompty` file.
pub(crate) fn read_prompty(file: &Arc<SourceFile>) -> Draft {
    let dialect = with_front_matter(file.text(), |root| {
        let template = root.get("template");
        let format = template.and_then(|value| value.get_str("format").or(value.str()));
        match format {
            Some("mustache") => Dialect::Mustache,
            Some("handlebars") => Dialect::Handlebars,
            _ => Dialect::Jinja,
        }
    });
    let source = Source::whole(Arc::clone(file));
    Draft::new(source, dialect.unwrap_or(Dialect::Jinja)).with_front_matter()
}

/// Reads a `.prompt` file whose front matter is dotprompt's; none if it is another kind of file.
pub(crate) fn read_prompt(file: &Arc<SourceFile>) -> Option<(Format, Draft)> {
    let text = file.text();
    let has_keys = with_front_matter(text, |root| {
        DOTPROMPT.iter().any(|key| root.get(key).is_some())
    });
    let body = &text[front_matter::end(text)..];
    let dialect = match guess(body) {
        // LiteLLM's `.prompt` files have the same front matter and Jinja below it.
        Guess::Certain(Dialect::Jinja) => Dialect::Jinja,
        Guess::Certain(Dialect::Handlebars) => Dialect::Handlebars,
        Guess::Certain(Dialect::Plain) | Guess::Likely(_) if has_keys == Some(true) => {
            Dialect::Handlebars
        }
        _ => return None,
    };
    let format = match dialect {
        Dialect::Handlebars => Format::Dotprompt,
        _ => Format::Jinja,
    };
    let source = Source::whole(Arc::clone(file));
    Some((format, Draft::new(source, dialect).with_front_matter()))
}

/// Asks the front matter something, if there is any that is valid.
fn with_front_matter<R>(text: &str, ask: impl FnOnce(&Value<'_>) -> R) -> Option<R> {
    let top = text.len() - text.trim_start_matches('\u{FEFF}').len();
    let (Span { start, end }, _) = front_matter::between_rules(text, top)?;
    read_yaml(&text[start..end], start)
        .documents
        .first()
        .map(ask)
}
