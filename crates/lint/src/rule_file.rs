//! A rule as it stands in its YAML file, and what is reported when the file is wrong.

use std::fmt;

use headwater_text::{LineTable, Position};
use serde::{Deserialize, de::DeserializeOwned};

/// A YAML file that says something else than it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file, as the caller named it.
    pub origin: String,
    /// Where in it.
    pub position: Position,
    /// What is wrong and what was expected.
    pub message: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.origin, self.position, self.message)
    }
}

impl std::error::Error for FileError {}

/// Reads YAML; an error carries the path to the key and its place.
pub(crate) fn read<T: DeserializeOwned>(yaml: &str, origin: &str) -> Result<T, FileError> {
    let deserializer = serde_yaml::Deserializer::from_str(yaml);
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let path = error.path().to_string();
        let position = error.inner().location().map(|at| Position {
            line: at.line(),
            column: at.column(),
        });
        let words = error.inner().to_string();
        // The place is reported once, in front.
        let words = words.split(" at line ").next().unwrap_or(&words);
        // The library already begins with the path for some kinds of errors.
        let words = words.strip_prefix(&format!("{path}: ")).unwrap_or(words);
        FileError {
            origin: origin.to_owned(),
            position: position.unwrap_or(Position { line: 1, column: 1 }),
            message: if path == "." {
                words.to_owned()
            } else {
                format!("{path}: {words}")
            },
        }
    })
}

/// An error at the first place where `needle` stands in the file.
pub(crate) fn at(yaml: &str, origin: &str, needle: &str, message: impl Into<String>) -> FileError {
    let offset = yaml.find(needle).unwrap_or(0);
    FileError {
        origin: origin.to_owned(),
        position: LineTable::new(yaml).position(offset),
        message: message.into(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFile {
    pub(crate) id: String,
    pub(crate) code: String,
    pub(crate) severity: String,
    pub(crate) summary: String,
    pub(crate) message: String,
    pub(crate) why: String,
    pub(crate) help: String,
    pub(crate) applies_to: Option<String>,
    pub(crate) r#match: MatchFile,
    pub(crate) fix: Option<FixFile>,
    pub(crate) examples: Vec<ExampleFile>,
}

/// Exactly one of these is given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MatchFile {
    pub(crate) value: Option<ValueFile>,
    pub(crate) condition: Option<EmptyFile>,
    pub(crate) unknown: Option<UnknownFile>,
    pub(crate) fork: Option<UnknownFile>,
    pub(crate) reordered: Option<ReorderedFile>,
    pub(crate) include: Option<EmptyFile>,
    pub(crate) duplicate: Option<DuplicateFile>,
    pub(crate) json_order: Option<EmptyFile>,
    pub(crate) text: Option<TextFile>,
    pub(crate) code: Option<CodeFile>,
    pub(crate) characters: Option<CharactersFile>,
    pub(crate) lookalikes: Option<EmptyFile>,
    pub(crate) line_ends: Option<String>,
    pub(crate) normalization: Option<EmptyFile>,
    pub(crate) seam: Option<SeamFile>,
    pub(crate) turn: Option<String>,
    pub(crate) opening: Option<String>,
    pub(crate) history: Option<String>,
    pub(crate) marker: Option<String>,
    pub(crate) request: Option<String>,
    pub(crate) minimum: Option<Vec<MinimumFile>>,
    pub(crate) cache_key: Option<Vec<MinimumFile>>,
    pub(crate) suppression: Option<EmptyFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DuplicateFile {
    pub(crate) min_bytes: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextFile {
    pub(crate) patterns: Vec<String>,
    #[serde(default)]
    pub(crate) unless: Vec<String>,
    pub(crate) at: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodeFile {
    pub(crate) all: Vec<String>,
    #[serde(default)]
    pub(crate) unless: Vec<String>,
    pub(crate) unless_declared: Option<String>,
    pub(crate) r#in: String,
}

/// One minimum of a provider; date and source are for whoever reads the rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MinimumFile {
    pub(crate) api: String,
    #[serde(default)]
    pub(crate) models: Vec<String>,
    pub(crate) tokens: usize,
    #[serde(rename = "date")]
    pub(crate) _date: String,
    #[serde(rename = "source")]
    pub(crate) _source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyFile {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ValueFile {
    pub(crate) declared: Option<String>,
    pub(crate) grain: Option<String>,
    #[serde(default)]
    pub(crate) names: Vec<String>,
    #[serde(default)]
    pub(crate) functions: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnknownFile {
    #[serde(default)]
    pub(crate) static_names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReorderedFile {
    pub(crate) r#in: String,
    #[serde(default)]
    pub(crate) variables: Vec<String>,
    #[serde(default)]
    pub(crate) filters: Vec<String>,
    #[serde(default)]
    pub(crate) functions: Vec<String>,
    #[serde(default)]
    pub(crate) methods: Vec<String>,
    #[serde(default)]
    pub(crate) after_filters: Vec<String>,
    #[serde(default)]
    pub(crate) unless_filters: Vec<String>,
    #[serde(default)]
    pub(crate) unless_keywords: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CharactersFile {
    pub(crate) classes: Vec<String>,
    #[serde(default)]
    pub(crate) once_a_line: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeamFile {
    pub(crate) before: Vec<char>,
    #[serde(default)]
    pub(crate) begins_with_digit: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixFile {
    pub(crate) kind: String,
    pub(crate) safety: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExampleFile {
    /// The name under which the texts are judged; it tells their format.
    #[serde(default = "default_path")]
    pub(crate) path: String,
    pub(crate) bad: String,
    pub(crate) good: String,
    pub(crate) fixed: Option<String>,
}

fn default_path() -> String {
    "example.j2".to_owned()
}
