//! `--fix`, `--unsafe-fixes` and `--diff`.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use headwater_lint::{Checked, Repair, Repaired, Safety};
use headwater_text::shown;
use similar::TextDiff;

use super::{
    arguments::Fixing,
    judge::{Job, read, with_input},
    shown_path,
    tokens::Counter,
};

/// What the flags ask for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) safety: Safety,
    pub(super) goal: Goal,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// Files are changed, and what is left is reported.
    Fix,
    /// Files are changed.
    FixOnly,
    /// Changes are shown.
    Show,
}

impl Mode {
    /// None if nothing is to be fixed.
    pub(super) fn of(fixing: &Fixing) -> Option<Self> {
        let goal = match fixing {
            Fixing { diff: true, .. } => Goal::Show,
            Fixing { fix_only: true, .. } => Goal::FixOnly,
            Fixing {
                fix: false,
                unsafe_fixes: false,
                ..
            } => return None,
            _ => Goal::Fix,
        };
        let safety = if fixing.unsafe_fixes {
            Safety::Unsafe
        } else {
            Safety::Safe
        };
        Some(Self { safety, goal })
    }
}

/// What became of one file.
pub(super) struct RepairedFile {
    pub(super) checked: Checked,
    /// The changes, as a unified diff.
    pub(super) diff: Option<String>,
    pub(super) applied: usize,
    /// One line each, for people.
    pub(super) remarks: Vec<String>,
}

/// Repairs a file, writes it if that is the goal, and judges what is left.
pub(super) fn repair_file(job: &Job, mode: Mode, counter: Option<&Counter>) -> RepairedFile {
    let bytes = match read(&job.path) {
        Ok(bytes) => bytes,
        Err(error) => return untouched(Checked::Unreadable(format!("cannot read it: {error}"))),
    };
    let (mut repaired, text) = repair_bytes(job, &bytes, mode, counter);
    let Some(text) = text.filter(|_| mode.goal != Goal::Show) else {
        return repaired;
    };
    if let Err(reason) = write(&job.path, &bytes, &text) {
        // What is reported must be what the file says.
        let checked = with_input(job, &bytes, counter, |input| {
            job.settings.linter.check_input(input)
        });
        repaired = untouched(checked);
        let path = shown_path(&job.path);
        repaired
            .remarks
            .push(format!("{}: not fixed: {reason}", shown(&path)));
    }
    repaired
}

/// Repairs the bytes of a file. The text is none if nothing changes.
pub(super) fn repair_bytes(
    job: &Job,
    bytes: &[u8],
    mode: Mode,
    counter: Option<&Counter>,
) -> (RepairedFile, Option<String>) {
    let linter = &job.settings.linter;
    let repair = with_input(job, bytes, counter, |input| {
        linter
            .repair(input, mode.safety)
            .ok_or_else(|| linter.check_input(input))
    });
    let repair = match repair {
        Ok(repair) => repair,
        Err(checked) => return (untouched(checked), None),
    };
    let path = shown_path(&job.path);
    let Repair {
        text,
        outcome,
        applied,
        dropped,
        ..
    } = repair;
    let is_changed = text.as_bytes() != bytes;
    let repaired = RepairedFile {
        checked: Checked::Judged(outcome),
        diff: is_changed.then(|| diff(&path, &String::from_utf8_lossy(bytes), &text)),
        applied: applied.len(),
        remarks: dropped.iter().map(|each| remark(&path, each)).collect(),
    };
    (repaired, is_changed.then_some(text))
}

fn untouched(checked: Checked) -> RepairedFile {
    RepairedFile {
        checked,
        diff: None,
        applied: 0,
        remarks: Vec::new(),
    }
}

fn remark(path: &str, dropped: &Repaired) -> String {
    format!(
        "{}:{}: {} is not fixed: {}",
        shown(path),
        dropped.finding.position,
        dropped.finding.code,
        shown(&dropped.reason)
    )
}

fn diff(path: &str, before: &str, after: &str) -> String {
    let (old, new) = (format!("a/{path}"), format!("b/{path}"));
    TextDiff::from_lines(before, after)
        .unified_diff()
        .header(&old, &new)
        .to_string()
}

/// Puts the new text in the place of the file in one step, with its permissions.
fn write(path: &Path, before: &[u8], text: &str) -> Result<(), String> {
    let in_words = |error: io::Error| format!("cannot write it: {error}");
    let metadata = fs::symlink_metadata(path).map_err(in_words)?;
    if metadata.is_symlink() {
        return Err("it is a symbolic link; name the file that it leads to".to_owned());
    }
    if metadata.permissions().readonly() {
        return Err("it is read-only".to_owned());
    }
    if fs::read(path).map_err(in_words)? != before {
        return Err("it changed in the meantime; run again".to_owned());
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut file =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(in_words)?;
    file.write_all(text.as_bytes()).map_err(in_words)?;
    fs::set_permissions(file.path(), metadata.permissions()).map_err(in_words)?;
    file.as_file().sync_all().map_err(in_words)?;
    file.persist(path)
        .map(|_| ())
        .map_err(|error| in_words(error.error))
}
