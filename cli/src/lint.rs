//! `headwater lint`: finds templates, has them judged, prints, and says with the exit code how it went.

use std::{
    fs,
    io::{self, IsTerminal as _, Read as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::ValueEnum;
use headwater_lint::{
    Checked, Linter, MAX_INPUT_BYTES, Paint, Report, Rule, RuleSet, Severity, Skipped,
};

use self::{inputs::Inputs, settings::Settings};

mod inputs;
mod settings;

/// Arguments of `headwater lint`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files and folders; `-` is standard input
    #[arg(default_value = ".")]
    paths: Vec<PathBuf>,
    /// How to write the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The least severe finding that makes the exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Warning, value_name = "SEVERITY")]
    fail_on: FailOn,
    /// A folder of rules beside the built-in ones
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// Only these rules: ids, codes, or the start of codes
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    select: Vec<String>,
    /// Not these rules: ids, codes, or the start of codes
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    ignore: Vec<String>,
    /// The name under which standard input is judged
    #[arg(long, value_name = "NAME")]
    stdin_filename: Option<PathBuf>,
    /// Count findings by rule at the end of the text report
    #[arg(long)]
    statistics: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    color: Color,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Info,
}

#[derive(Clone, Copy, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

/// Findings at or above `--fail-on`.
const EXIT_FINDINGS: u8 = 1;
/// Some input could not be judged.
const EXIT_UNREADABLE: u8 = 2;
/// Columns of the report where the terminal does not say.
const DEFAULT_WIDTH: usize = 80;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let rules = load_rules(args.rules.as_deref())?;
    let linter = Linter::new(rules).choosing(&args.select, &args.ignore)?;
    let mut run = Run {
        linter,
        report: Report::default(),
        unreadable: 0,
    };
    if args.stdin_filename.is_some() || args.paths == [Path::new("-")] {
        run.standard_input(args.stdin_filename.as_deref())?;
    } else {
        run.paths(&args.paths)?;
    }
    print(args, &run)?;
    Ok(run.exit_code(args.fail_on))
}

/// The built-in rules and those of a folder.
pub(crate) fn load_rules(folder: Option<&Path>) -> anyhow::Result<RuleSet> {
    let mut rules = RuleSet::builtin().context("a built-in rule is broken")?;
    let Some(folder) = folder else {
        return Ok(rules);
    };
    let entries = fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder of rules {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry
            .with_context(|| format!("cannot read {}", folder.display()))?
            .path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            files.push(path);
        }
    }
    files.sort();
    anyhow::ensure!(
        !files.is_empty(),
        "no rule in {}; a rule is a file NAME.yaml",
        folder.display()
    );
    for path in files {
        let origin = path.display().to_string();
        let yaml =
            fs::read_to_string(&path).with_context(|| format!("cannot read the rule {origin}"))?;
        rules.add(Rule::parse(&yaml, &origin)?, &origin)?;
    }
    Ok(rules)
}

/// A run of the linter over its inputs.
struct Run {
    linter: Linter,
    report: Report,
    /// Inputs that should have been judged and could not be.
    unreadable: usize,
}

impl Run {
    fn standard_input(&mut self, name: Option<&Path>) -> anyhow::Result<()> {
        let name = name.unwrap_or(Path::new("stdin.j2"));
        let bytes = read_limited(io::stdin().lock()).context("cannot read standard input")?;
        let mut settings = Settings::default();
        let declared = settings.volatility(name)?;
        let checked = self.linter.check(&shown_path(name), &bytes, &declared);
        self.take(name, checked, Named::ByUser);
        Ok(())
    }

    fn paths(&mut self, paths: &[PathBuf]) -> anyhow::Result<()> {
        let mut settings = Settings::default();
        let inputs = Inputs::find(paths, &mut settings)?;
        for skipped in inputs.missing {
            self.unreadable += 1;
            self.report.skipped.push(skipped);
        }
        for (path, named) in &inputs.files {
            self.file(path, *named, &mut settings)?;
        }
        self.report.skipped.extend(inputs.excluded);
        self.report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        if self.report.judged.is_empty() && self.report.skipped.is_empty() {
            let names: Vec<_> = paths
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            anyhow::bail!(
                "no template in {}; templates are files ending in .j2, .jinja, .jinja2, .md, .txt or .prompt",
                names.join(", ")
            );
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, named: Named, settings: &mut Settings) -> anyhow::Result<()> {
        let name = shown_path(path);
        if named == Named::ByWalk && !may_be_template(&self.linter, &name) {
            return Ok(());
        }
        match fs::File::open(path).and_then(read_limited) {
            Ok(bytes) => {
                let declared = settings.volatility(path)?;
                let checked = self.linter.check(&name, &bytes, &declared);
                self.take(path, checked, named);
            }
            Err(error) => self.take(
                path,
                Checked::Unreadable(format!("cannot read it: {error}")),
                named,
            ),
        }
        Ok(())
    }

    fn take(&mut self, path: &Path, checked: Checked, named: Named) {
        let reason = match checked {
            Checked::Judged(outcome) => return self.report.judged.push(outcome),
            Checked::Unreadable(reason) => {
                self.unreadable += 1;
                reason
            }
            Checked::Unsupported(language) => {
                self.unreadable += usize::from(named == Named::ByUser);
                format!("{language} templates cannot be judged yet")
            }
            _ if named == Named::ByWalk => return,
            _ => {
                self.unreadable += 1;
                "not recognized as a template; expected .j2, .jinja, .jinja2, .md, .txt or .prompt"
                    .to_owned()
            }
        };
        self.report.skipped.push(Skipped {
            path: shown_path(path),
            reason,
        });
    }

    fn exit_code(&self, fail_on: FailOn) -> ExitCode {
        let limit = match fail_on {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
            FailOn::Info => Severity::Info,
        };
        if self.unreadable > 0 {
            return ExitCode::from(EXIT_UNREADABLE);
        }
        match self.report.worst() {
            Some(worst) if worst >= limit => ExitCode::from(EXIT_FINDINGS),
            _ => ExitCode::SUCCESS,
        }
    }
}

/// How an input came into the run. What the user named must not be passed over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    ByUser,
    ByWalk,
}

/// Tells from the name alone whether a file found on the way is worth reading.
fn may_be_template(linter: &Linter, name: &str) -> bool {
    !matches!(
        linter.check(name, b"", &Default::default()),
        Checked::NotATemplate
    )
}

/// At most one byte more than a template may have.
fn read_limited(reader: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_INPUT_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    reader.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A path as the user would write it.
fn shown_path(path: &Path) -> String {
    let text = path.display().to_string();
    text.strip_prefix("./").unwrap_or(&text).to_owned()
}

fn print(args: &Args, run: &Run) -> anyhow::Result<()> {
    let report = &run.report;
    let mut out = match args.format {
        Format::Json => headwater_lint::json(report).context("cannot write JSON")?,
        Format::Text => headwater_lint::text(report, paint(args.color), width()),
    };
    if args.statistics && args.format == Format::Text {
        out.push_str(&statistics(run));
    }
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(out.as_bytes())
        .context("cannot write the report")?;
    stdout.flush().context("cannot write the report")
}

fn paint(color: Color) -> Paint {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match color {
        Color::Always => Paint::Colour,
        Color::Auto if io::stdout().is_terminal() && !no_color => Paint::Colour,
        Color::Auto | Color::Never => Paint::Plain,
    }
}

fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    columns
        .and_then(|columns| columns.parse().ok())
        .unwrap_or(DEFAULT_WIDTH)
}

/// Findings by rule, the most frequent first.
fn statistics(run: &Run) -> String {
    let findings = run
        .report
        .judged
        .iter()
        .flat_map(|outcome| &outcome.findings);
    let mut counts = std::collections::BTreeMap::new();
    for finding in findings {
        *counts
            .entry((&finding.code, &finding.rule))
            .or_insert(0_usize) += 1;
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    rows.iter()
        .map(|((code, rule), count)| format!("{count:5}  {code} {rule}\n"))
        .collect()
}
