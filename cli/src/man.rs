//! `headwater man FOLDER`: manual pages, for whoever packages the command.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::Context as _;

/// Arguments of `headwater man`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where to write the pages: headwater.1, headwater-lint.1, …
    folder: PathBuf,
}

pub(crate) fn run(args: &Args, command: clap::Command) -> anyhow::Result<ExitCode> {
    let shown = args.folder.display();
    fs::create_dir_all(&args.folder).with_context(|| format!("cannot make the folder {shown}"))?;
    clap_mangen::generate_to(command, &args.folder)
        .with_context(|| format!("cannot write manual pages to {shown}"))?;
    Ok(ExitCode::SUCCESS)
}
