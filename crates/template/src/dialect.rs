//! The template languages that can be parsed.

use crate::format::Format;

/// A template language that can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// Jinja, as Jinja2, minijinja and chat templates write it.
    Jinja,
    /// Handlebars, with roles of dotprompt.
    Handlebars,
    /// Mustache.
    Mustache,
    /// Go's `text/template`.
    Go,
    /// The own language of Semantic Kernel.
    SemanticKernel,
    /// Python's `str.format`.
    StrFormat,
    /// No language: every byte is static text.
    Plain,
}

impl Dialect {
    /// A name for people and machines: `jinja`, `go`, `str-format`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jinja => "jinja",
            Self::Handlebars => "handlebars",
            Self::Mustache => "mustache",
            Self::Go => "go",
            Self::SemanticKernel => "semantic-kernel",
            Self::StrFormat => "str-format",
            Self::Plain => "plain",
        }
    }

    /// The form of a file that is all in this language.
    pub(crate) fn format(self) -> Format {
        match self {
            Self::Jinja => Format::Jinja,
            Self::Handlebars => Format::Handlebars,
            Self::Mustache => Format::Mustache,
            Self::Go => Format::GoTemplate,
            Self::SemanticKernel => Format::SemanticKernel,
            Self::StrFormat => Format::StrFormat,
            Self::Plain => Format::Plain,
        }
    }
}
