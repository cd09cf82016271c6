//! `headwater.yaml` files: found in the folders above a template, read once each.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use headwater_lint::{Config, Skipped, Volatility};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::shown_path;

/// The configs of a run, by folder.
#[derive(Default)]
pub(super) struct Settings {
    read: BTreeMap<PathBuf, Option<Folder>>,
}

/// One config.
struct Folder {
    config: Config,
    exclude: Gitignore,
    path: PathBuf,
}

impl Settings {
    /// What the folders above a template declare; the nearest wins.
    pub(super) fn volatility(
        &mut self,
        file: &Path,
    ) -> anyhow::Result<BTreeMap<String, Volatility>> {
        let mut declared = BTreeMap::new();
        for folder in folders_above(file) {
            if let Some(folder) = self.folder(&folder)? {
                for (name, volatility) in &folder.config.volatility {
                    declared.entry(name.clone()).or_insert(*volatility);
                }
            }
        }
        Ok(declared)
    }

    /// The file or folder that a config leaves out of a walk from `root`, if `file` belongs to it.
    ///
    /// What the user names is never left out: only what lies below `root` can be.
    pub(super) fn exclusion(
        &mut self,
        root: &Path,
        file: &Path,
    ) -> anyhow::Result<Option<Skipped>> {
        for folder in folders_above(file) {
            let Some(config) = self.folder(&folder)? else {
                continue;
            };
            let below: Vec<&Path> = file.ancestors().take_while(|path| *path != root).collect();
            let excluded = below.iter().rev().find(|path| {
                let absolute = std::path::absolute(path).unwrap_or_default();
                let is_folder = **path != file;
                absolute.starts_with(&folder)
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

    fn folder(&mut self, folder: &Path) -> anyhow::Result<Option<&Folder>> {
        if !self.read.contains_key(folder) {
            let read = read(folder)?;
            self.read.insert(folder.to_owned(), read);
        }
        Ok(self.read.get(folder).and_then(Option::as_ref))
    }
}

/// From the folder of the file up to the root of its repository, or of the file system.
fn folders_above(file: &Path) -> Vec<PathBuf> {
    let absolute = std::path::absolute(file).unwrap_or_default();
    let mut folders = Vec::new();
    for folder in absolute.ancestors().skip(1) {
        folders.push(folder.to_owned());
        if folder.join(".git").exists() {
            break;
        }
    }
    folders
}

fn read(folder: &Path) -> anyhow::Result<Option<Folder>> {
    let path = folder.join(Config::FILE_NAME);
    let shown = shown_path(&relative(&path));
    let yaml = match fs::read_to_string(&path) {
        Ok(yaml) => yaml,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
    };
    let config = Config::parse(&yaml, &shown)?;
    let mut exclude = GitignoreBuilder::new(folder);
    for glob in &config.exclude {
        exclude
            .add_line(None, glob)
            .with_context(|| format!("{shown}: exclude: `{glob}`"))?;
    }
    let exclude = exclude
        .build()
        .with_context(|| format!("{shown}: exclude"))?;
    Ok(Some(Folder {
        config,
        exclude,
        path,
    }))
}

/// A path below the working folder without it.
fn relative(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_owned()
}
