//! Configs: found in the folders above a template, read once each.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use headwater_lint::{Config, Linter, Severity, Skipped, Volatility};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::shown_path;

/// The configs of a run, by folder, and the linters that they ask for.
pub(crate) struct Settings {
    read: BTreeMap<PathBuf, Option<Arc<Folder>>>,
    /// Configs above a folder, the nearest first.
    above: BTreeMap<PathBuf, Vec<Arc<Folder>>>,
    linters: BTreeMap<Choice, Arc<Linter>>,
    base: Linter,
    /// What the command line says; it counts more than any config.
    given: Choice,
}

/// Names of rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Choice {
    pub(crate) select: Vec<String>,
    pub(crate) ignore: Vec<String>,
}

/// What holds for one file.
pub(crate) struct FileSettings {
    pub(crate) linter: Arc<Linter>,
    pub(crate) declared: BTreeMap<String, Volatility>,
    /// Where names of included templates are looked up, the folders of the nearest config first.
    pub(crate) roots: Vec<PathBuf>,
}

/// What holds for a run.
#[derive(Default)]
pub(crate) struct RunSettings {
    pub(crate) fail_on: Option<Severity>,
    pub(crate) rules: Vec<PathBuf>,
    pub(crate) baseline: Option<PathBuf>,
}

/// One config.
struct Folder {
    root: PathBuf,
    config: Config,
    exclude: Gitignore,
    /// The files of each override.
    overrides: Vec<Gitignore>,
    path: PathBuf,
}

impl Settings {
    /// Settings for a linter with all rules.
    ///
    /// # Errors
    /// The command line names no rule.
    pub(crate) fn new(base: Linter, given: Choice) -> anyhow::Result<Self> {
        let mut settings = Self {
            read: BTreeMap::new(),
            above: BTreeMap::new(),
            linters: BTreeMap::new(),
            base,
            given,
        };
        settings.linter(settings.given.clone())?;
        Ok(settings)
    }

    /// What the folders above a file say; the nearest wins, and the command line counts more.
    pub(crate) fn of_file(&mut self, file: &Path) -> anyhow::Result<FileSettings> {
        let absolute = std::path::absolute(file).unwrap_or_default();
        let mut declared = BTreeMap::new();
        let mut select = None;
        let mut ignore = Vec::new();
        let mut origin = None;
        let mut roots = Vec::new();
        for folder in self.above(&absolute)? {
            let own = folder.config.roots.iter();
            roots.extend(own.map(|root| folder.root.join(root)));
            let meant = folder.overrides.iter().zip(&folder.config.overrides);
            let meant = meant.filter(|(files, _)| files.matched(&absolute, false).is_ignore());
            // A later override counts more than an earlier one, and each more than the folder.
            for (_, over) in meant.rev() {
                add(&mut declared, &over.volatility);
                select = select.or_else(|| over.select.clone());
                ignore.extend(over.ignore.iter().cloned());
            }
            add(&mut declared, &folder.config.volatility);
            select = select.or_else(|| folder.config.select.clone());
            ignore.extend(folder.config.ignore.iter().cloned());
            origin.get_or_insert_with(|| folder.path.clone());
        }
        let mut choice = self.given.clone();
        if choice.select.is_empty() {
            choice.select = select.unwrap_or_default();
        }
        choice.ignore.extend(ignore);
        choice.ignore.sort();
        choice.ignore.dedup();
        let linter = self.linter(choice).with_context(|| match origin {
            Some(path) => format!("{}: select or ignore", shown_path(&relative(&path))),
            None => "select or ignore".to_owned(),
        })?;
        Ok(FileSettings {
            linter,
            declared,
            roots,
        })
    }

    /// What the configs above the first of the paths say about the whole run.
    pub(crate) fn of_run(paths: &[PathBuf]) -> anyhow::Result<RunSettings> {
        let first = paths.first().map_or(Path::new("."), PathBuf::as_path);
        let start = if first.is_dir() {
            first.join(Config::FILE_NAME)
        } else {
            first.to_owned()
        };
        let mut run = RunSettings::default();
        for folder in folders_above(&std::path::absolute(start).unwrap_or_default()) {
            let Some(folder) = read(&folder)? else {
                continue;
            };
            run.fail_on = run.fail_on.or(folder.config.fail_on);
            let rules = folder.config.rules.iter();
            run.rules.extend(rules.map(|rules| folder.root.join(rules)));
            let baseline = folder.config.baseline.as_ref();
            run.baseline = run
                .baseline
                .or_else(|| baseline.map(|path| folder.root.join(path)));
        }
        Ok(run)
    }

    /// The file or folder that a config leaves out of a walk from `root`, if `file` belongs to it.
    ///
    /// What the user names is never left out: only what lies below `root` can be.
    pub(crate) fn exclusion(
        &mut self,
        root: &Path,
        file: &Path,
    ) -> anyhow::Result<Option<Skipped>> {
        let absolute_file = std::path::absolute(file).unwrap_or_default();
        for config in self.above(&absolute_file)? {
            if config.config.exclude.is_empty() {
                continue;
            }
            let below: Vec<&Path> = file.ancestors().take_while(|path| *path != root).collect();
            let excluded = below.iter().rev().find(|path| {
                let absolute = std::path::absolute(path).unwrap_or_default();
                let is_folder = **path != file;
                absolute.starts_with(&config.root)
                    && config.exclude.matched(&absolute, is_folder).is_ignore()
            });
            if let Some(path) = excluded {
                return Ok(Some(Skipped {
                    path: shown_path(path),
                    reason: format!("left out by {}", shown_path(&relative(&config.path))),
                }));
            }
        }
        Ok(None)
    }

    fn linter(&mut self, choice: Choice) -> anyhow::Result<Arc<Linter>> {
        if let Some(linter) = self.linters.get(&choice) {
            return Ok(Arc::clone(linter));
        }
        let linter = self.base.clone();
        let linter = Arc::new(linter.choosing(&choice.select, &choice.ignore)?);
        self.linters.insert(choice, Arc::clone(&linter));
        Ok(linter)
    }

    fn above(&mut self, file: &Path) -> anyhow::Result<Vec<Arc<Folder>>> {
        let parent = file.parent().unwrap_or(file).to_owned();
        if let Some(above) = self.above.get(&parent) {
            return Ok(above.clone());
        }
        let mut above = Vec::new();
        for folder in folders_above(file) {
            if !self.read.contains_key(&folder) {
                let config = read(&folder)?.map(Arc::new);
                self.read.insert(folder.clone(), config);
            }
            above.extend(self.read.get(&folder).cloned().flatten());
        }
        self.above.insert(parent, above.clone());
        Ok(above)
    }
}

fn add(declared: &mut BTreeMap<String, Volatility>, more: &BTreeMap<String, Volatility>) {
    for (name, volatility) in more {
        declared.entry(name.clone()).or_insert(*volatility);
    }
}

/// From the folder of the file up to the root of its repository, or of the file system.
fn folders_above(file: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for folder in file.ancestors().skip(1) {
        folders.push(folder.to_owned());
        if folder.join(".git").exists() {
            break;
        }
    }
    folders
}

fn read(folder: &Path) -> anyhow::Result<Option<Folder>> {
    let own = folder.join(Config::FILE_NAME);
    if let Some(yaml) = text(&own)? {
        let config = Config::parse(&yaml, &shown_path(&relative(&own)))?;
        return checked(folder, own, config).map(Some);
    }
    let pyproject = folder.join(Config::PYPROJECT);
    let Some(toml) = text(&pyproject)? else {
        return Ok(None);
    };
    match Config::parse_pyproject(&toml, &shown_path(&relative(&pyproject)))? {
        Some(config) => checked(folder, pyproject, config).map(Some),
        None => Ok(None),
    }
}

fn text(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let shown = shown_path(&relative(path));
            Err(error).with_context(|| format!("cannot read {shown}"))
        }
    }
}

fn checked(root: &Path, path: PathBuf, config: Config) -> anyhow::Result<Folder> {
    let shown = shown_path(&relative(&path));
    let exclude = globs(root, &config.exclude).with_context(|| format!("{shown}: exclude"))?;
    let overrides = config.overrides.iter();
    let overrides: anyhow::Result<Vec<Gitignore>> =
        overrides.map(|over| globs(root, &over.files)).collect();
    Ok(Folder {
        root: root.to_owned(),
        overrides: overrides.with_context(|| format!("{shown}: overrides"))?,
        exclude,
        config,
        path,
    })
}

fn globs(root: &Path, globs: &[String]) -> anyhow::Result<Gitignore> {
    let mut builder = GitignoreBuilder::new(root);
    for glob in globs {
        builder
            .add_line(None, glob)
            .with_context(|| format!("`{glob}`"))?;
    }
    Ok(builder.build()?)
}

/// A path below the working folder without it.
pub(crate) fn relative(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_owned()
}
