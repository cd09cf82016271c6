//! `headwater.yaml`, or `[tool.headwater]` in `pyproject.toml`: what holds for all templates of a folder.

use std::{collections::BTreeMap, ops::Range};

use headwater_template::Volatility;
use headwater_text::{LineTable, Position};
use serde::Deserialize;

use crate::{
    finding::Severity,
    rule_file::{self, FileError},
};

/// Settings of a folder of templates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Globs of files and folders to leave out when the folder is walked, relative to it.
    pub exclude: Vec<String>,
    /// Declared volatility of variables; a template's own front matter wins. A name may hold `*`.
    pub volatility: BTreeMap<String, Volatility>,
    /// Only these rules: ids, codes, or the start of codes.
    pub select: Option<Vec<String>>,
    /// Not these rules.
    pub ignore: Vec<String>,
    /// The least severe finding that fails a run.
    pub fail_on: Option<Severity>,
    /// Folders of rules beside the built-in ones, relative to the folder.
    pub rules: Vec<String>,
    /// Folders in which names of included templates are looked up, relative to the folder.
    pub roots: Vec<String>,
    /// A file of known findings, relative to the folder.
    pub baseline: Option<String>,
    /// What differs for some of the files.
    pub overrides: Vec<Override>,
}

/// What differs for files that match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Override {
    /// Globs relative to the folder.
    pub files: Vec<String>,
    /// Only these rules.
    pub select: Option<Vec<String>>,
    /// Not these rules either.
    pub ignore: Vec<String>,
    /// Declared volatility of variables there; counts more than the folder's.
    pub volatility: BTreeMap<String, Volatility>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct ConfigFile {
    exclude: Vec<String>,
    volatility: BTreeMap<String, VolatilityFile>,
    select: Option<Vec<String>>,
    ignore: Vec<String>,
    fail_on: Option<SeverityFile>,
    rules: Vec<String>,
    roots: Vec<String>,
    baseline: Option<String>,
    overrides: Vec<OverrideFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct OverrideFile {
    files: Vec<String>,
    #[serde(default)]
    select: Option<Vec<String>>,
    #[serde(default)]
    ignore: Vec<String>,
    #[serde(default)]
    volatility: BTreeMap<String, VolatilityFile>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum VolatilityFile {
    Static,
    SemiStatic,
    Dynamic,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SeverityFile {
    Error,
    Warning,
    Info,
}

/// The one table of a `pyproject.toml` that is ours.
#[derive(Deserialize)]
struct PyprojectFile {
    tool: Option<ToolFile>,
}

#[derive(Deserialize)]
struct ToolFile {
    headwater: Option<ConfigFile>,
}

impl Config {
    /// The name of the file.
    pub const FILE_NAME: &'static str = "headwater.yaml";
    /// The file whose table `[tool.headwater]` is read where there is no file of our own.
    pub const PYPROJECT: &'static str = "pyproject.toml";

    /// Reads a config.
    ///
    /// # Errors
    /// The YAML is not a config; the error names the place and the key.
    pub fn parse(yaml: &str, origin: &str) -> Result<Self, FileError> {
        if yaml.trim().is_empty() {
            return Ok(Self::default());
        }
        rule_file::read::<ConfigFile>(yaml, origin).map(Self::from)
    }

    /// Reads `[tool.headwater]` of a `pyproject.toml`; none if there is no such table.
    ///
    /// # Errors
    /// The text is not TOML, or the table not a config; the error names the place and the key.
    pub fn parse_pyproject(toml: &str, origin: &str) -> Result<Option<Self>, FileError> {
        let file: PyprojectFile = toml::from_str(toml).map_err(|error| FileError {
            origin: origin.to_owned(),
            position: place(toml, error.span()),
            message: error.message().to_owned(),
        })?;
        let table = file.tool.and_then(|tool| tool.headwater);
        Ok(table.map(Self::from))
    }
}

fn place(text: &str, span: Option<Range<usize>>) -> Position {
    LineTable::new(text).position(span.map_or(0, |span| span.start))
}

impl From<ConfigFile> for Config {
    fn from(file: ConfigFile) -> Self {
        Self {
            exclude: file.exclude,
            volatility: declared(file.volatility),
            select: file.select,
            ignore: file.ignore,
            fail_on: file.fail_on.map(Severity::from),
            rules: file.rules,
            roots: file.roots,
            baseline: file.baseline,
            overrides: file
                .overrides
                .into_iter()
                .map(|each| Override {
                    files: each.files,
                    select: each.select,
                    ignore: each.ignore,
                    volatility: declared(each.volatility),
                })
                .collect(),
        }
    }
}

fn declared(file: BTreeMap<String, VolatilityFile>) -> BTreeMap<String, Volatility> {
    let entries = file.into_iter();
    entries.map(|(name, v)| (name, v.into())).collect()
}

impl From<VolatilityFile> for Volatility {
    fn from(file: VolatilityFile) -> Self {
        match file {
            VolatilityFile::Static => Self::Static,
            VolatilityFile::SemiStatic => Self::SemiStatic,
            VolatilityFile::Dynamic => Self::Dynamic,
        }
    }
}

impl From<SeverityFile> for Severity {
    fn from(file: SeverityFile) -> Self {
        match file {
            SeverityFile::Error => Self::Error,
            SeverityFile::Warning => Self::Warning,
            SeverityFile::Info => Self::Info,
        }
    }
}
