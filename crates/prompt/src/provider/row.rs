//! One fact about one provider, with its source.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

/// Who serves the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI.
    OpenAi,
    /// OpenAI's models on Azure.
    Azure,
    /// Anthropic's own endpoint.
    Anthropic,
    /// Amazon Bedrock.
    Bedrock,
    /// Google's Gemini.
    Gemini,
    /// DeepSeek's own endpoint.
    DeepSeek,
    /// Alibaba Cloud Model Studio, which serves Qwen.
    DashScope,
}

impl Provider {
    /// The name in the data file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Azure => "azure",
            Self::Anthropic => "anthropic",
            Self::Bedrock => "bedrock",
            Self::Gemini => "gemini",
            Self::DeepSeek => "deepseek",
            Self::DashScope => "dashscope",
        }
    }
}

/// A fact and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// Whose rule it is.
    pub provider: Provider,
    /// Parts of model names; none means all models of the provider.
    pub models: Vec<String>,
    /// The rule.
    pub fact: Fact,
    /// The date of the source, or of the last look at it if it has none.
    pub date: Date,
    /// Where it says so.
    pub source: String,
    /// What else to know.
    pub note: Option<String>,
}

/// A rule of a provider's cache.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fact {
    /// Shorter prefixes are never cached. In tokens.
    MinimumTokens(NonZeroU32),
    /// A cached prefix grows in steps of so many tokens.
    StepTokens(NonZeroU32),
    /// Cache markers in one request.
    MaxMarkers(NonZeroU32),
    /// Content blocks before a marker in which a stored prefix is found.
    LookbackBlocks(NonZeroU32),
    /// Stored markers that are considered.
    LookbackMarkers(NonZeroU32),
    /// How long a prefix stays, the shortest first.
    Lifetimes(Vec<Lifetime>),
    /// What a marker is called in the body.
    MarkerKey(String),
    /// The field that keeps requests of one prefix together.
    RoutingKey(String),
}

/// How long a prefix stays, as the provider spells it: `5m`, `1h`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifetime {
    text: String,
    duration: Duration,
}

impl Lifetime {
    /// The provider's spelling.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The time it stands for.
    pub fn duration(&self) -> Duration {
        self.duration
    }
}

impl FromStr for Lifetime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let (count, minutes) = match text.strip_suffix('h') {
                Some(count) => (count, 60),
                None => (text.strip_suffix('m')?, 1),
            };
            let count: NonZeroU32 = count.parse().ok()?;
            Some(Duration::from_secs(u64::from(count.get()) * minutes * 60))
        };
        let duration = parsed()
            .ok_or_else(|| format!("`{text}` is no lifetime; write minutes `5m` or hours `1h`"))?;
        Ok(Self {
            text: text.to_owned(),
            duration,
        })
    }
}

/// A day, which sorts as time runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl FromStr for Date {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let mut parts = text.split('-');
            let mut part = |digits: usize| parts.next().filter(|part| part.len() == digits);
            let year = part(4)?.parse().ok()?;
            let month = part(2)?
                .parse()
                .ok()
                .filter(|month| (1..=12).contains(month))?;
            let day = part(2)?.parse().ok().filter(|day| (1..=31).contains(day))?;
            parts.next().is_none().then_some(Self { year, month, day })
        };
        parsed().ok_or_else(|| format!("`{text}` is no date; write it as 2026-01-31"))
    }
}

/// A row as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRow {
    provider: Provider,
    #[serde(default)]
    models: Vec<String>,
    minimum_tokens: Option<NonZeroU32>,
    step_tokens: Option<NonZeroU32>,
    max_markers: Option<NonZeroU32>,
    lookback_blocks: Option<NonZeroU32>,
    lookback_markers: Option<NonZeroU32>,
    lifetimes: Option<Vec<String>>,
    marker_key: Option<String>,
    routing_key: Option<String>,
    date: String,
    source: String,
    note: Option<String>,
}

impl TryFrom<RawRow> for Row {
    type Error = String;

    fn try_from(raw: RawRow) -> Result<Self, String> {
        if raw.source.trim().is_empty() {
            return Err("the source is empty; say where the fact is from".to_owned());
        }
        let lifetimes = raw.lifetimes.map(lifetimes).transpose()?;
        let facts = [
            raw.minimum_tokens.map(Fact::MinimumTokens),
            raw.step_tokens.map(Fact::StepTokens),
            raw.max_markers.map(Fact::MaxMarkers),
            raw.lookback_blocks.map(Fact::LookbackBlocks),
            raw.lookback_markers.map(Fact::LookbackMarkers),
            lifetimes.map(Fact::Lifetimes),
            raw.marker_key.map(Fact::MarkerKey),
            raw.routing_key.map(Fact::RoutingKey),
        ];
        let mut facts = facts.into_iter().flatten();
        let (Some(fact), None) = (facts.next(), facts.next()) else {
            return Err("a row has exactly one fact; write a row for each".to_owned());
        };
        Ok(Self {
            provider: raw.provider,
            models: raw.models,
            fact,
            date: raw.date.parse()?,
            source: raw.source,
            note: raw.note,
        })
    }
}

fn lifetimes(texts: Vec<String>) -> Result<Vec<Lifetime>, String> {
    let parsed: Vec<Lifetime> = texts
        .iter()
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    if parsed.is_empty() || !parsed.is_sorted_by_key(Lifetime::duration) {
        return Err("lifetimes are listed from the shortest to the longest; sort them".to_owned());
    }
    Ok(parsed)
}
