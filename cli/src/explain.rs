//! `headwater explain`.

use std::process::ExitCode;

/// Arguments of `headwater explain`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not there yet")
}
