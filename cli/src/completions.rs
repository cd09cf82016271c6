//! `headwater completions SHELL`: a script that completes the command line.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::lint::print;

/// Arguments of `headwater completions`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, command: &mut clap::Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "headwater", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
