//! Chat templates in `tokenizer_config.json` and `chat_template.json`.

use super::{Found, assembly::single};
use crate::{
    container::{Data, Text, Value},
    dialect::Dialect,
    format::Format,
    source::Source,
};

/// Reads `chat_template`: a string, a list of names and templates, or a map of them.
pub(super) fn read(source: &Source, root: &Value<'_>) -> Option<Found> {
    let value = root.get("chat_template")?;
    let mut found = Found::new(Format::TokenizerConfig);
    let mut add = |text: &Text<'_>, label: Option<&str>| {
        let mut draft = single(source, text, Dialect::Jinja);
        draft.is_chat_template = true;
        draft.label = label.map(str::to_owned);
        found.drafts.push(draft);
    };
    match &value.data {
        Data::Text(text) => add(text, None),
        Data::List(items) => {
            for item in items {
                if let Some(text) = item.get("template").and_then(Value::text) {
                    add(text, item.get_str("name"));
                }
            }
        }
        Data::Map(pairs) => {
            for (name, value) in pairs {
                if let Some(text) = value.text() {
                    add(text, Some(name.value.as_ref()));
                }
            }
        }
        Data::Other => return None,
    }
    Some(found)
}
