//! `--watch`: checks again whenever an input changes.
//!
//! It looks at times and sizes instead of asking the system for events: that works on every file system,
//! network mounts and containers included, and costs a walk now and then.

use std::{
    collections::BTreeMap,
    fs,
    io::IsTerminal as _,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, SystemTime},
};

use super::{arguments::Args, inputs, output};

/// How often it looks.
const PAUSE: Duration = Duration::from_millis(300);
/// Clears the screen and the lines above it.
const CLEAR: &str = "\x1b[2J\x1b[3J\x1b[H";

/// What tells one state of a file from another.
type Stamp = (Option<SystemTime>, u64);

/// Checks until it is stopped. Problems of one run are shown and may be gone in the next.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut seen = None;
    loop {
        let now = stamps(args);
        if seen.as_ref() != Some(&now) {
            // An editor may still be writing: wait until nothing moves.
            if seen.is_some() {
                std::thread::sleep(PAUSE / 3);
                if stamps(args) != now {
                    continue;
                }
            }
            if std::io::stdout().is_terminal() {
                output::print(CLEAR)?;
            }
            match super::run_once(args) {
                Ok(_) => {}
                Err(error) if crate::is_broken_pipe(&error) => return Err(error),
                Err(error) => eprintln!("error: {error:#}"),
            }
            eprintln!("watching; stop with Ctrl-C");
            seen = Some(now);
        }
        std::thread::sleep(PAUSE);
    }
}

/// The state of every file that a run reads.
fn stamps(args: &Args) -> BTreeMap<PathBuf, Stamp> {
    let mut files = inputs::all_below(&args.paths);
    files.extend(args.rules.iter().flat_map(|folder| {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path()))
    }));
    let stamp = |path: &PathBuf| {
        let metadata = fs::metadata(path).ok()?;
        Some((path.clone(), (metadata.modified().ok(), metadata.len())))
    };
    files.iter().filter_map(stamp).collect()
}
