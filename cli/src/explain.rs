//! `headwater explain`: a rule in full, or all rules in brief.

use std::{path::PathBuf, process::ExitCode};

use crate::lint::{load_rules, print};

/// Arguments of `headwater explain`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Id or code of a rule; without it all rules are listed
    rule: Option<String>,
    /// A folder of rules beside the built-in ones
    #[arg(long, value_name = "DIR")]
    rules: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let rules = load_rules(args.rules.iter().map(PathBuf::as_path))?;
    let out = match &args.rule {
        Some(name) => headwater_lint::explain(rules.find(name)?),
        None => headwater_lint::list(&rules),
    };
    print(&out)?;
    Ok(ExitCode::SUCCESS)
}
