//! Prompts of Semantic Kernel as YAML.

use super::{Found, assembly::single};
use crate::{
    container::Value, dialect::Dialect, document::NoteKind, format::Format, source::Source,
};

/// Keys one of which stands beside `template`.
const BESIDE: [&str; 5] = [
    "template_format",
    "input_variables",
    "execution_settings",
    "output_variable",
    "description",
];

/// Reads `template`, in the language that `template_format` names.
pub(super) fn read(source: &Source, root: &Value<'_>) -> Option<Found> {
    let text = root.get("template")?.text()?;
    if !BESIDE.iter().any(|key| root.get(key).is_some()) {
        return None;
    }
    let mut found = Found::new(Format::SemanticKernel);
    let dialect = match root.get_str("template_format") {
        None | Some("semantic-kernel") => Dialect::SemanticKernel,
        Some("handlebars") => Dialect::Handlebars,
        Some("jinja2") => Dialect::Jinja,
        Some(other) => {
            let other = headwater_text::shown(other);
            let message = format!("templates in `{other}` cannot be judged yet");
            found.note(NoteKind::UnsupportedLanguage, text.span, message);
            Dialect::Plain
        }
    };
    let mut draft = single(source, text, dialect);
    draft.label = root.get_str("name").map(str::to_owned);
    found.drafts.push(draft);
    Some(found)
}
