//! Arguments of `headwater lint`.

use std::path::PathBuf;

use clap::ValueEnum;
use headwater_lint::Severity;

/// Arguments of `headwater lint`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files and folders; `-` is standard input
    #[arg(default_value = ".")]
    pub(super) paths: Vec<PathBuf>,
    /// How to write the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// The least severe finding that makes the exit code 1 [default: warning]
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub(super) fail_on: Option<FailOn>,
    /// A folder of rules beside the built-in ones; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(super) rules: Vec<PathBuf>,
    /// Only these rules: ids, codes, or the start of codes
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    pub(super) select: Vec<String>,
    /// Not these rules: ids, codes, or the start of codes
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    pub(super) ignore: Vec<String>,
    /// The name under which standard input is judged
    #[arg(long, value_name = "NAME")]
    pub(super) stdin_filename: Option<PathBuf>,
    /// Count findings by rule at the end of the text report
    #[arg(long)]
    pub(super) statistics: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(super) color: Color,
    /// Count tokens with this tokenizer.json instead of four bytes a token
    #[arg(long, value_name = "FILE")]
    pub(super) tokenizer: Option<PathBuf>,
    #[command(flatten)]
    pub(super) fixing: Fixing,
    #[command(flatten)]
    pub(super) scope: Scope,
    /// Check again whenever an input changes
    #[arg(long, conflicts_with_all = ["fix", "unsafe_fixes", "diff", "write_baseline"])]
    pub(super) watch: bool,
}

/// What is done about findings.
#[derive(clap::Args)]
#[command(next_help_heading = "Fixes")]
pub(super) struct Fixing {
    /// Apply fixes after which the model reads the same words
    #[arg(long)]
    pub(super) fix: bool,
    /// Apply also fixes that somebody should look at, such as moved lines
    #[arg(long)]
    pub(super) unsafe_fixes: bool,
    /// Show what fixes would change, and change nothing; exit code 1 if there is something
    #[arg(long)]
    pub(super) diff: bool,
    /// Apply fixes and do not report what is left; the exit code is then 0
    #[arg(long, conflicts_with = "diff")]
    pub(super) fix_only: bool,
}

/// Which findings are reported.
#[derive(clap::Args)]
#[command(next_help_heading = "Adoption")]
pub(super) struct Scope {
    /// Leave out findings that this file lists
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Write all findings to the baseline instead of reporting them
    #[arg(long)]
    pub(super) write_baseline: bool,
    /// Only findings on lines that changed since this git revision (or since it and HEAD parted)
    #[arg(long, value_name = "REVISION")]
    pub(super) since: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Source lines with carets, for people
    Text,
    /// One line a finding
    Concise,
    /// JSON, version 1
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
    /// Code quality of GitLab
    Gitlab,
    /// JUnit XML
    Junit,
    /// Reviewdog's diagnostic format
    Rdjson,
    /// A summary for the page of a job
    Markdown,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum FailOn {
    Error,
    Warning,
    Info,
}

impl From<FailOn> for Severity {
    fn from(limit: FailOn) -> Self {
        match limit {
            FailOn::Error => Self::Error,
            FailOn::Warning => Self::Warning,
            FailOn::Info => Self::Info,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Color {
    Auto,
    Always,
    Never,
}
