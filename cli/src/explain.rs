//! `headwater explain`: a rule in full, or all rules in brief.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context as _;

use crate::lint::load_rules;

/// Arguments of `headwater explain`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Id or code of a rule; without it all rules are listed
    rule: Option<String>,
    /// A folder of rules beside the built-in ones
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let rules = load_rules(args.rules.as_deref())?;
    let out = match &args.rule {
        Some(name) => headwater_lint::explain(rules.find(name)?),
        None => headwater_lint::list(&rules),
    };
    let mut stdout = io::stdout().lock();
    stdout.write_all(out.as_bytes()).context("cannot write")?;
    stdout.flush().context("cannot write")?;
    Ok(ExitCode::SUCCESS)
}
