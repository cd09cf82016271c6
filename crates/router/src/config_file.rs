//! A configuration file as text: YAML to [`Config`], or the place of the first thing wrong.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::config::{Config, WorkerConfig};
use crate::config_place;
use crate::config_value as value;
use crate::config_whole;
use crate::error::ConfigError;
use crate::worker_url::WorkerUrl;

/// Reads a whole file.
pub(crate) fn parse(yaml: &str, origin: &str) -> Result<Config, ConfigError> {
    // Some editors begin a file with a mark of its encoding.
    let yaml = yaml.strip_prefix('\u{feff}').unwrap_or(yaml);
    let document = serde_yaml::Deserializer::from_str(yaml);
    let config: Config = serde_path_to_error::deserialize(document).map_err(|error| {
        let path = error.path().to_string();
        ConfigError::of_file(origin, &path, error.inner())
    })?;
    match config_whole::problem(&config) {
        Some((path, message)) => {
            let position = config_place::position(yaml, &path);
            Err(ConfigError::of_place(origin, &path, position, message))
        }
        None => Ok(config),
    }
}

/// Reads one worker alone.
pub(crate) fn parse_worker(yaml: &str, origin: &str) -> Result<WorkerConfig, ConfigError> {
    let document = serde_yaml::Deserializer::from_str(yaml);
    NextWorker(&mut Seen::default())
        .deserialize(document)
        .map_err(|error| ConfigError::of_file(origin, "", &error))
}

/// Reads the list of workers: none twice, at least one.
pub(crate) fn workers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<WorkerConfig>, D::Error> {
    from.deserialize_seq(WorkerList)
}

/// Checks workers that come from a command line in the same way.
pub(crate) fn workers_of_urls<'a>(
    urls: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<WorkerConfig>, String> {
    let mut seen = Seen::default();
    let mut list = Vec::new();
    for url in urls {
        let worker = WorkerEntry::from_url(url)?.into_config();
        seen.add(&worker)?;
        list.push(worker);
    }
    if list.is_empty() {
        return Err(NO_WORKERS.to_owned());
    }
    Ok(list)
}

pub(crate) const NO_WORKERS: &str =
    "there are no workers; list at least one, such as `http://127.0.0.1:8001`";

/// Names and addresses so far.
#[derive(Default)]
struct Seen {
    names: BTreeSet<String>,
    addresses: BTreeSet<String>,
}

impl Seen {
    fn add(&mut self, worker: &WorkerConfig) -> Result<(), String> {
        if !self.addresses.insert(worker.url.authority().to_owned()) {
            let url = &worker.url;
            return Err(format!(
                "`{url}` is listed twice; remove one, or use `weight`"
            ));
        }
        if !self.names.insert(worker.name.clone()) {
            let name = &worker.name;
            return Err(format!(
                "the name `{name}` is taken; give each worker its own"
            ));
        }
        Ok(())
    }
}

struct WorkerList;

impl<'de> Visitor<'de> for WorkerList {
    type Value = Vec<WorkerConfig>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of workers, such as `[http://127.0.0.1:8001]`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut seen = Seen::default();
        let mut workers = Vec::new();
        while let Some(worker) = list.next_element_seed(NextWorker(&mut seen))? {
            workers.push(worker);
        }
        if workers.is_empty() {
            return Err(A::Error::custom(NO_WORKERS));
        }
        Ok(workers)
    }
}

/// Reads one worker and compares it with those before, so that an error has its place.
struct NextWorker<'a>(&'a mut Seen);

impl<'de> DeserializeSeed<'de> for NextWorker<'_> {
    type Value = WorkerConfig;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<WorkerConfig, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NextWorker<'_> {
    type Value = WorkerConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a URL or `{url, weight, name}`")
    }

    fn visit_str<E: Error>(self, url: &str) -> Result<WorkerConfig, E> {
        let worker = WorkerEntry::from_url(url).map_err(E::custom)?.into_config();
        self.0.add(&worker).map_err(E::custom)?;
        Ok(worker)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WorkerConfig, A::Error> {
        let worker = WorkerEntry::deserialize(MapAccessDeserializer::new(map))?.into_config();
        self.0.add(&worker).map_err(A::Error::custom)?;
        Ok(worker)
    }
}

/// A worker as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkerEntry {
    #[serde(deserialize_with = "value::url")]
    url: WorkerUrl,
    #[serde(default = "one", deserialize_with = "value::weight")]
    weight: f64,
    #[serde(default, deserialize_with = "value::worker_name")]
    name: Option<String>,
}

impl WorkerEntry {
    pub(crate) fn from_url(text: &str) -> Result<Self, String> {
        Ok(Self {
            url: WorkerUrl::parse(text)?,
            weight: one(),
            name: None,
        })
    }

    pub(crate) fn into_config(self) -> WorkerConfig {
        WorkerConfig {
            name: self.name.unwrap_or_else(|| self.url.authority().to_owned()),
            url: self.url,
            weight: self.weight,
        }
    }
}

fn one() -> f64 {
    1.0
}
