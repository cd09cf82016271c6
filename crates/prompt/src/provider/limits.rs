//! All rows, and what they say about one model.

use serde::Deserialize;

use super::row::RawRow;
use super::{Fact, Lifetime, LimitsError, Provider, Row};

/// The facts of a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    rows: Vec<Row>,
}

/// What is known about the cache for one model. `None` or empty is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// Shorter prefixes are never cached. In tokens.
    pub minimum_tokens: Option<u32>,
    /// A cached prefix grows in steps of so many tokens.
    pub step_tokens: Option<u32>,
    /// Cache markers in one request.
    pub max_markers: Option<u32>,
    /// Content blocks before a marker in which a stored prefix is found.
    pub lookback_blocks: Option<u32>,
    /// Stored markers that are considered.
    pub lookback_markers: Option<u32>,
    /// How long a prefix stays, the shortest first.
    pub lifetimes: Vec<Lifetime>,
    /// What a marker is called in the body.
    pub marker_key: Option<String>,
    /// The field that keeps requests of one prefix together.
    pub routing_key: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLimits {
    rows: Vec<RawRow>,
}

impl Limits {
    /// Reads a file in the form of `data/providers.yaml`, for callers who know newer numbers.
    ///
    /// # Errors
    /// Another form, or a row that says something that cannot be.
    pub fn parse(yaml: &str) -> Result<Self, LimitsError> {
        let raw: RawLimits = serde_yaml::from_str(yaml).map_err(|error| LimitsError::Form {
            message: error.to_string(),
        })?;
        let rows = raw.rows.into_iter().enumerate().map(|(index, raw)| {
            Row::try_from(raw).map_err(|problem| LimitsError::Row {
                number: index + 1,
                problem,
            })
        });
        Ok(Self {
            rows: rows.collect::<Result<_, _>>()?,
        })
    }

    /// Every row, in the order of the file.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// What the rows say about `model`. Of several rows for one fact the one wins that names
    /// the longest part of the model's name, so that a model newer than the file gets what is
    /// said of its family or of all models.
    pub fn rules(&self, provider: Provider, model: &str) -> Rules {
        let mut rules = Rules::default();
        for row in self.matching(provider, model) {
            rules.apply(&row.fact);
        }
        rules
    }

    /// The row that [`Rules::minimum_tokens`] comes from, with its source and date.
    pub fn minimum(&self, provider: Provider, model: &str) -> Option<&Row> {
        let mut rows = self.matching(provider, model).into_iter().rev();
        rows.find(|row| matches!(row.fact, Fact::MinimumTokens(_)))
    }

    /// The rows for this model, the closest last, which overwrites.
    fn matching(&self, provider: Provider, model: &str) -> Vec<&Row> {
        let mut matching: Vec<(usize, &Row)> = self
            .rows
            .iter()
            .filter(|row| row.provider == provider)
            .filter_map(|row| Some((row.matched(model)?, row)))
            .collect();
        // Stable, so that a later row overwrites as well.
        matching.sort_by_key(|(matched, _)| *matched);
        matching.into_iter().map(|(_, row)| row).collect()
    }
}

impl Row {
    /// How many bytes of the model's name this row knows.
    fn matched(&self, model: &str) -> Option<usize> {
        if self.models.is_empty() {
            return Some(0);
        }
        let model = spelled(model);
        let known = self.models.iter().map(|part| spelled(part));
        known
            .filter(|part| occurs(part, &model))
            .map(|part| part.len())
            .max()
    }
}

/// Providers and gateways write `4.7` and `4-7`.
fn spelled(name: &str) -> String {
    name.to_ascii_lowercase().replace('.', "-")
}

/// Whether whole words of `name` are `part`: `gpt-5-1` is no part of `gpt-5-12`.
fn occurs(part: &str, name: &str) -> bool {
    let inside_word = |c: char| c.is_ascii_alphanumeric();
    name.match_indices(part).any(|(start, _)| {
        !name[..start].ends_with(inside_word)
            && !name[start + part.len()..].starts_with(inside_word)
    })
}

impl Rules {
    fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::MinimumTokens(tokens) => self.minimum_tokens = Some(tokens.get()),
            Fact::StepTokens(tokens) => self.step_tokens = Some(tokens.get()),
            Fact::MaxMarkers(markers) => self.max_markers = Some(markers.get()),
            Fact::LookbackBlocks(blocks) => self.lookback_blocks = Some(blocks.get()),
            Fact::LookbackMarkers(markers) => self.lookback_markers = Some(markers.get()),
            Fact::Lifetimes(lifetimes) => self.lifetimes.clone_from(lifetimes),
            Fact::MarkerKey(key) => self.marker_key = Some(key.clone()),
            Fact::RoutingKey(key) => self.routing_key = Some(key.clone()),
        }
    }
}
