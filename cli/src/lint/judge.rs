//! Judges many files at once, with results in the order of the files.

use std::{
    fs,
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use headwater_lint::{Checked, Input, MAX_INPUT_BYTES};

use super::{settings::FileSettings, shown_path, tokens::Counter};

/// A file and what holds for it.
pub(super) struct Job {
    pub(super) path: PathBuf,
    pub(super) settings: FileSettings,
}

/// Calls `work` for every job on all cores. The answers stand in the order of the jobs.
pub(super) fn in_parallel<T: Send>(jobs: &[Job], work: impl Fn(&Job) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::with_capacity(jobs.len()));
    std::thread::scope(|scope| {
        for _ in 0..cores.min(jobs.len()) {
            scope.spawn(|| {
                let mut own = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    own.push((index, work(job)));
                }
                let mut all = answers.lock().unwrap_or_else(PoisonError::into_inner);
                all.append(&mut own);
            });
        }
    });
    let mut answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.sort_unstable_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// Reads a file and judges it.
pub(super) fn judge(job: &Job, counter: Option<&Counter>) -> Checked {
    match read(&job.path) {
        Ok(bytes) => with_input(job, &bytes, counter, |input| {
            job.settings.linter.check_input(input)
        }),
        Err(error) => Checked::Unreadable(format!("cannot read it: {error}")),
    }
}

/// Hands the bytes over with everything that is known about their file.
pub(super) fn with_input<T>(
    job: &Job,
    bytes: &[u8],
    counter: Option<&Counter>,
    work: impl FnOnce(&Input<'_>) -> T,
) -> T {
    let load = |name: &str| included(&job.path, &job.settings.roots, name);
    let count = counter.map(|counter| |text: &str| counter.count(text));
    let count: Option<&dyn Fn(&str) -> usize> = count.as_ref().map(|count| count as _);
    work(&Input {
        path: &shown_path(&job.path),
        bytes,
        declared: &job.settings.declared,
        load: &load,
        count_tokens: count,
    })
}

/// At most one byte more than a template may have.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::File::open(path).and_then(read_limited)
}

pub(super) fn read_limited(reader: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_INPUT_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    reader.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file that a template names, where loaders of template engines look: beside it, below the `roots`
/// of the configs, below a folder above it up to the repository's root, and below the working folder.
/// Names that lead out of such a folder are not followed.
pub(crate) fn included(template: &Path, roots: &[PathBuf], name: &str) -> Option<Vec<u8>> {
    let name = Path::new(name);
    let is_inside = name
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_inside {
        return None;
    }
    let absolute = std::path::absolute(template).ok()?;
    let mut folders = vec![absolute.parent()?];
    folders.extend(roots.iter().map(PathBuf::as_path));
    for folder in absolute.ancestors().skip(1) {
        folders.push(folder);
        if folder.join(".git").exists() {
            break;
        }
    }
    let here = std::env::current_dir().unwrap_or_default();
    folders.push(&here);
    let mut paths = folders.iter().map(|folder| folder.join(name));
    read(&paths.find(|path| path.is_file())?).ok()
}
