//! Which template language a file is written in, by its name and, where that leaves it open, its text.

use crate::format::Format;

/// A template language that can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// Jinja, as Jinja2, minijinja and chat templates write it.
    Jinja,
    /// No language: every byte is static text.
    Plain,
}

impl Dialect {
    /// `jinja` or `plain`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jinja => "jinja",
            Self::Plain => "plain",
        }
    }

    /// The form of a file that is all in this language.
    pub(crate) fn format(self) -> Format {
        match self {
            Self::Jinja => Format::Jinja,
            Self::Plain => Format::Plain,
        }
    }
}

/// What a file name and text say about the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recognition {
    /// It can be parsed as this.
    Known(Dialect),
    /// It is a template in a language that cannot be parsed yet; its name.
    Unsupported(&'static str),
    /// Nothing says that it is a template.
    NotATemplate,
}

/// Jinja by file name.
const JINJA: [&str; 3] = ["j2", "jinja", "jinja2"];
/// Open: Jinja if the text has its marks.
const OPEN: [&str; 3] = ["md", "txt", "prompt"];
/// Languages whose file names are known and whose syntax is not parsed.
const UNSUPPORTED: [(&str, &str); 11] = [
    ("hbs", "Handlebars"),
    ("handlebars", "Handlebars"),
    ("mustache", "Mustache"),
    ("tmpl", "Go template"),
    ("gotmpl", "Go template"),
    ("tpl", "Go template"),
    ("liquid", "Liquid"),
    ("prompty", "Prompty"),
    ("poml", "POML"),
    ("baml", "BAML"),
    ("ejs", "EJS"),
];
/// Marks that no Jinja text begins a tag with.
const FOREIGN: [(&str, &str); 6] = [
    ("{{#", "Handlebars"),
    ("{{/", "Handlebars"),
    ("{{>", "Handlebars"),
    ("{{role ", "dotprompt"),
    ("{{$", "Semantic Kernel"),
    ("{{ .", "Go template"),
];

/// Tells the language of a file from its name and its text.
pub fn recognize(file_name: &str, text: &str) -> Recognition {
    let extension = file_name
        .rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase())
        .unwrap_or_default();
    if JINJA.contains(&extension.as_str()) {
        return Recognition::Known(Dialect::Jinja);
    }
    if OPEN.contains(&extension.as_str()) {
        return by_marks(text);
    }
    UNSUPPORTED
        .iter()
        .find(|(known, _)| *known == extension)
        .map_or(Recognition::NotATemplate, |(_, language)| {
            Recognition::Unsupported(language)
        })
}

fn by_marks(text: &str) -> Recognition {
    if text.contains("{%") {
        return Recognition::Known(Dialect::Jinja);
    }
    if let Some((_, language)) = FOREIGN.iter().find(|(mark, _)| text.contains(mark)) {
        return Recognition::Unsupported(language);
    }
    if text.contains("{{") {
        return Recognition::Known(Dialect::Jinja);
    }
    Recognition::Known(Dialect::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_then_marks() {
        let check = |name, text, expected| assert_eq!(recognize(name, text), expected, "{name}");
        check("a.j2", "", Recognition::Known(Dialect::Jinja));
        check("a.md.JINJA2", "", Recognition::Known(Dialect::Jinja));
        check("a.md", "plain", Recognition::Known(Dialect::Plain));
        check("a.md", "{{ x }}", Recognition::Known(Dialect::Jinja));
        check("a.txt", "{% if x %}", Recognition::Known(Dialect::Jinja));
        check(
            "a.prompt",
            "{{#each x}}",
            Recognition::Unsupported("Handlebars"),
        );
        check("a.hbs", "{{ x }}", Recognition::Unsupported("Handlebars"));
        check("a.rs", "{{ x }}", Recognition::NotATemplate);
        check("Makefile", "", Recognition::NotATemplate);
    }
}
