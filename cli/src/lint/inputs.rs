//! Which files a run judges: those that are named, and those found in folders that are named.

use std::path::{Path, PathBuf};

use headwater_lint::Skipped;
use ignore::{Walk, WalkBuilder};

use super::{Named, settings::Settings, shown_path};

/// What a walk over the named paths found.
#[derive(Default)]
pub(super) struct Inputs {
    /// Files in the order of their paths, each once.
    pub(super) files: Vec<(PathBuf, Named)>,
    /// Named paths that do not exist or cannot be read.
    pub(super) missing: Vec<Skipped>,
    /// Files and folders that a config leaves out, each once.
    pub(super) excluded: Vec<Skipped>,
}

impl Inputs {
    /// Walks the paths. Hidden files and what ignore files name are passed over, as git does.
    pub(super) fn find(paths: &[PathBuf], settings: &mut Settings) -> anyhow::Result<Self> {
        let mut inputs = Self::default();
        for path in paths {
            if path.is_dir() {
                inputs.walk(path, settings)?;
            } else if path.exists() {
                inputs.files.push((path.clone(), Named::ByUser));
            } else {
                inputs.missing.push(Skipped {
                    path: shown_path(path),
                    reason: "no such file or folder".to_owned(),
                });
            }
        }
        // A file that is named and found is named.
        inputs
            .files
            .sort_by(|a, b| (&a.0, a.1 == Named::ByWalk).cmp(&(&b.0, b.1 == Named::ByWalk)));
        inputs.files.dedup_by(|a, b| a.0 == b.0);
        inputs.excluded.dedup();
        Ok(inputs)
    }

    fn walk(&mut self, root: &Path, settings: &mut Settings) -> anyhow::Result<()> {
        for entry in walker(root) {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.missing.push(Skipped {
                        path: shown_path(root),
                        reason: error.to_string(),
                    });
                    continue;
                }
            };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            match settings.exclusion(root, entry.path())? {
                Some(excluded) if self.excluded.last() == Some(&excluded) => {}
                Some(excluded) => self.excluded.push(excluded),
                None => self.files.push((entry.into_path(), Named::ByWalk)),
            }
        }
        Ok(())
    }
}

/// Every file that is named or stands below a named folder, configs included.
pub(super) fn all_below(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in paths {
        let entries = walker(path).flatten();
        let found = entries.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        files.extend(found.map(ignore::DirEntry::into_path));
    }
    files
}

fn walker(root: &Path) -> Walk {
    WalkBuilder::new(root)
        .require_git(false)
        .sort_by_file_path(Ord::cmp)
        .build()
}
