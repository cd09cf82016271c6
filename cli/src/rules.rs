//! `headwater rules`: all rules with what they find and how they are fixed.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::ValueEnum;
use headwater_lint::Rule;
use serde_json::{Value, json};

use crate::lint::{load_rules, print};

/// Arguments of `headwater rules`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How to write the list
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// A folder of rules beside the built-in ones; may be given several times
    #[arg(long, value_name = "DIR")]
    rules: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// One line a rule
    Text,
    /// The page docs/rules.md
    Markdown,
    /// JSON, version 1
    Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let rules = load_rules(args.rules.iter().map(PathBuf::as_path))?;
    print(&match args.format {
        Format::Text => headwater_lint::list(&rules),
        Format::Markdown => headwater_lint::rules_markdown(&rules),
        Format::Json => {
            let all: Vec<Value> = rules.rules().iter().map(value).collect();
            let document = json!({"version": 1, "rules": all});
            let mut text = serde_json::to_string_pretty(&document).context("cannot write JSON")?;
            text.push('\n');
            text
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn value(rule: &Rule) -> Value {
    json!({
        "code": rule.code.as_str(),
        "id": rule.id,
        "severity": rule.severity.as_str(),
        "summary": rule.summary,
        "why": rule.why,
        "help": rule.help,
        "fix": rule.fix.map(|fix| json!({
            "kind": fix.kind.as_str(),
            "safety": fix.safety.as_str(),
        })),
        "examples": rule.examples.iter().map(|example| json!({
            "path": example.path,
            "bad": example.bad,
            "good": example.good,
        })).collect::<Vec<_>>(),
    })
}
