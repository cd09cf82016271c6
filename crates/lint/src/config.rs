//! `headwater.yaml`: what holds for all templates of a folder.

use std::collections::BTreeMap;

use headwater_template::Volatility;
use serde::Deserialize;

use crate::rule_file::{self, FileError};

/// Settings of a folder of templates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Globs of files and folders to leave out when the folder is walked, relative to it.
    pub exclude: Vec<String>,
    /// Declared volatility of variables; a template's own front matter wins.
    pub volatility: BTreeMap<String, Volatility>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    exclude: Vec<String>,
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

impl Config {
    /// The name of the file.
    pub const FILE_NAME: &'static str = "headwater.yaml";

    /// Reads a config.
    ///
    /// # Errors
    /// The YAML is not a config; the error names the place and the key.
    pub fn parse(yaml: &str, origin: &str) -> Result<Self, FileError> {
        if yaml.trim().is_empty() {
            return Ok(Self::default());
        }
        let file: ConfigFile = rule_file::read(yaml, origin)?;
        Ok(Self {
            exclude: file.exclude,
            volatility: file
                .volatility
                .into_iter()
                .map(|(name, v)| (name, v.into()))
                .collect(),
        })
    }
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
