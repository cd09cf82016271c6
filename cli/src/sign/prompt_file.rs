//! The prompt file: YAML or JSON with segments in order. Every error has file, line and column.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};
use headwater::text::Position;
use headwater::{Prompt, PromptDraft, PromptError, Segment, SegmentLabel, UnknownName};
use serde::Deserialize;

use super::{locate, source};

/// A prompt file that has been read and has the right shape.
pub(crate) struct PromptFile {
    name: String,
    source: String,
    /// Where `file` entries are looked for.
    folder: PathBuf,
    content: Content,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping with `segments`")]
struct Content {
    segments: Vec<Entry>,
    session: Option<String>,
    model: Option<String>,
    salt_env: Option<String>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a mapping with `volatility` and `text` or `file`"
)]
struct Entry {
    // Words, so that a wrong one is reported at its own place and not at the segment's.
    volatility: String,
    role: Option<String>,
    name: Option<String>,
    text: Option<String>,
    file: Option<PathBuf>,
    #[serde(default)]
    verbatim: bool,
}

impl PromptFile {
    /// Reads a prompt file; `-` is standard input, whose `file` entries are looked for in the
    /// current folder.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let stdin = path == Path::new("-");
        let name = if stdin {
            "<stdin>".to_owned()
        } else {
            path.display().to_string()
        };
        let source = if stdin {
            source::text(std::io::stdin().lock(), &name)?
        } else {
            source::open(path, &name)?
        };
        let json = match path.extension() {
            Some(extension) => extension.eq_ignore_ascii_case("json"),
            None => stdin && source.trim_start().starts_with('{'),
        };
        let content = if json {
            from_json(&source, &name)?
        } else {
            from_yaml(&source, &name)?
        };
        let folder = path
            .parent()
            .filter(|folder| !stdin && *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        Ok(Self {
            name,
            source,
            folder,
            content,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn session(&self) -> Option<&str> {
        self.content.session.as_deref()
    }

    pub(crate) fn model(&self) -> Option<&str> {
        self.content.model.as_deref()
    }

    pub(crate) fn salt_env(&self) -> Option<&str> {
        self.content.salt_env.as_deref()
    }

    /// Reads the texts and builds the prompt.
    pub(crate) fn prompt(&self) -> anyhow::Result<Prompt> {
        if self.content.segments.is_empty() {
            bail!(
                "{}",
                self.at(&["segments"], &PromptError::NoSegments.to_string())
            );
        }
        let mut draft = PromptDraft::new();
        for (index, entry) in self.content.segments.iter().enumerate() {
            let volatility = self.word(index, "volatility", &entry.volatility)?;
            let segment = self.segment(index, entry)?;
            draft
                .push(volatility, segment)
                .map_err(|error| self.explain(&error))?;
        }
        draft.build().map_err(|error| self.explain(&error))
    }

    fn segment(&self, index: usize, entry: &Entry) -> anyhow::Result<Segment> {
        let text = match (&entry.text, &entry.file) {
            (Some(text), None) => text.clone(),
            (None, Some(file)) => self.included(index, file)?,
            (Some(_), Some(_)) => {
                bail!(
                    "{}",
                    self.at_entry(index, "file", "has both `text` and `file`; keep one")
                )
            }
            (None, None) => bail!(
                "{}",
                self.at_entry(
                    index,
                    "",
                    "has no text; add `text: …`, or `file: …` with a path"
                )
            ),
        };
        let role = entry
            .role
            .as_deref()
            .map(|role| self.word(index, "role", role))
            .transpose()?;
        let segment = Segment {
            role,
            name: entry.name.clone(),
            ..Segment::new(text)
        };
        Ok(if entry.verbatim {
            segment.verbatim()
        } else {
            segment
        })
    }

    /// Reads one of a closed set of words.
    fn word<T>(&self, index: usize, key: &str, word: &str) -> anyhow::Result<T>
    where
        T: FromStr<Err = UnknownName>,
    {
        word.parse()
            .map_err(|error: UnknownName| anyhow!(self.at_entry(index, key, &error.to_string())))
    }

    /// The text of a `file` entry. A prompt file reads from its own folder only: whoever reviews
    /// the folder has seen everything that can reach a model.
    fn included(&self, index: usize, file: &Path) -> anyhow::Result<String> {
        let wrong = |problem: &str| {
            anyhow!(
                "{}",
                self.at_entry(index, "file", &format!("`{}` {problem}", shown(file)))
            )
        };
        const OUTSIDE: &str =
            "is not inside the folder of the prompt file; move it there, or use `text`";
        let climbs = file
            .components()
            .any(|part| part == std::path::Component::ParentDir);
        if file.is_absolute() || climbs {
            return Err(wrong(OUTSIDE));
        }
        let path = self.folder.join(file);
        let real = path.canonicalize().map_err(|error| {
            wrong(&format!(
                "cannot be read: {error}; paths are relative to the prompt file"
            ))
        })?;
        let folder = self
            .folder
            .canonicalize()
            .with_context(|| self.name.clone())?;
        if !real.starts_with(folder) {
            return Err(wrong(OUTSIDE));
        }
        source::open(&real, &shown(&path))
    }

    /// Puts file, line and column before an error of the SDK.
    fn explain(&self, error: &PromptError) -> anyhow::Error {
        if let Some((label, position)) = error.place() {
            return self.explain_text(label, position, &error.problem());
        }
        let message = match error {
            PromptError::OutOfOrder { later, .. } => self.at(
                &["segments", &later.index.to_string(), "volatility"],
                &error.problem(),
            ),
            PromptError::MixedRoles { later, .. } => self.at(
                &["segments", &later.index.to_string(), "role"],
                &error.problem(),
            ),
            _ => self.at(&["segments"], &error.problem()),
        };
        anyhow!(message)
    }

    /// An error inside a segment's text: its own file's position, or the position in the text
    /// behind that of the entry.
    fn explain_text(&self, label: &SegmentLabel, at: Position, problem: &str) -> anyhow::Error {
        let entry = self.content.segments.get(label.index);
        if let Some(file) = entry.and_then(|entry| entry.file.as_deref()) {
            return anyhow!(
                "{}:{at}: {label}: {problem}",
                shown(&self.folder.join(file))
            );
        }
        let Position { line, column } = at;
        let problem = format!("line {line}, column {column} of the text: {problem}");
        anyhow!(self.at_entry(label.index, "text", &problem))
    }

    fn at_entry(&self, index: usize, key: &str, problem: &str) -> String {
        self.at(&["segments", &index.to_string(), key], problem)
    }

    /// `file:line:column: path: problem`, with the deepest part of the path that exists.
    fn at(&self, path: &[&str], problem: &str) -> String {
        let place = match locate::position(&self.source, path) {
            Some(position) => format!("{}:{position}", self.name),
            None => self.name.clone(),
        };
        format!("{place}: {}: {problem}", locate::path(path))
    }
}

fn from_yaml(source: &str, name: &str) -> anyhow::Result<Content> {
    serde_yaml::from_str(source).map_err(|error| {
        let position = error.location().map(|at| (at.line(), at.column()));
        malformed(name, position, "", &error.to_string())
    })
}

fn from_json(source: &str, name: &str) -> anyhow::Result<Content> {
    let mut json = serde_json::Deserializer::from_str(source);
    let content = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = match error.path().to_string() {
            path if path == "." => String::new(),
            path => format!("{path}: "),
        };
        let inner = error.inner();
        malformed(
            name,
            Some((inner.line(), inner.column())),
            &path,
            &inner.to_string(),
        )
    })?;
    json.end().map_err(|error| {
        malformed(
            name,
            Some((error.line(), error.column())),
            "",
            &error.to_string(),
        )
    })?;
    Ok(content)
}

/// The parsers end their messages with the position, which here stands in front.
fn malformed(
    name: &str,
    position: Option<(usize, usize)>,
    path: &str,
    message: &str,
) -> anyhow::Error {
    let place = match position {
        Some((line, column)) => format!("{name}:{line}:{column}"),
        None => name.to_owned(),
    };
    let message = message
        .rfind(" at line ")
        .map_or(message, |end| &message[..end]);
    anyhow!(
        "{place}: {path}{message}\n\
         help: a prompt file has `segments:`, a list of {{volatility: static|semi_static|dynamic, \
         role?, name?, text | file, verbatim?}}, and optionally `session:`, `model:`, `salt_env:`"
    )
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
