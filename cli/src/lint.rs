//! `headwater lint`: finds templates, has them judged, prints, and says with the exit code how it went.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use headwater_lint::{
    Baseline, Checked, Linter, Report, RuleSet, Severity, Skipped, TokenCount, may_hold_prompts,
};

pub(crate) use self::{
    arguments::Args, judge::included, output::print, rules::load_rules, settings::Settings,
};
use self::{
    fixing::{Goal, Mode, RepairedFile},
    inputs::Inputs,
    judge::Job,
    settings::{Choice, RunSettings},
    since::Changes,
    tokens::Counter,
};

mod arguments;
mod fixing;
mod inputs;
mod judge;
mod output;
mod rules;
pub(crate) mod settings;
mod since;
mod tokens;
mod watch;

/// Findings at or above `--fail-on`.
const EXIT_FINDINGS: u8 = 1;
/// Some input could not be judged.
const EXIT_UNREADABLE: u8 = 2;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.watch {
        return watch::run(args);
    }
    run_once(args)
}

fn run_once(args: &Args) -> anyhow::Result<ExitCode> {
    let of_run = Settings::of_run(&args.paths)?;
    let mut run = Run::new(args, &of_run)?;
    if args.stdin_filename.is_some() || args.paths == [Path::new("-")] {
        run.standard_input(args.stdin_filename.as_deref())?;
    } else {
        run.paths(&args.paths)?;
    }
    run.finish(args, &of_run)
}

/// A run of the linter over its inputs.
struct Run {
    settings: Settings,
    counter: Option<Counter>,
    mode: Option<Mode>,
    since: Option<Changes>,
    baseline: Option<Baseline>,
    rules: RuleSet,
    report: Report,
    /// Inputs that should have been judged and could not be.
    unreadable: usize,
    /// Diffs, or the repaired standard input: printed in the place of the report or before it.
    changes: String,
    applied: usize,
}

impl Run {
    fn new(args: &Args, of_run: &RunSettings) -> anyhow::Result<Self> {
        let folders = of_run.rules.iter().chain(&args.rules);
        let rules = load_rules(folders.map(PathBuf::as_path))?;
        let given = Choice {
            select: args.select.clone(),
            ignore: args.ignore.clone(),
        };
        let counter = args.tokenizer.as_deref().map(Counter::read).transpose()?;
        let since = args
            .scope
            .since
            .as_deref()
            .map(Changes::since)
            .transpose()?;
        let report = Report {
            tokens: match counter {
                Some(_) => TokenCount::Counted,
                None => TokenCount::Estimated,
            },
            prefix: prefix(),
            ..Report::default()
        };
        Ok(Self {
            settings: Settings::new(Linter::new(rules.clone()), given)?,
            mode: Mode::of(&args.fixing),
            baseline: read_baseline(args, of_run)?,
            counter,
            since,
            rules,
            report,
            unreadable: 0,
            changes: String::new(),
            applied: 0,
        })
    }

    fn standard_input(&mut self, name: Option<&Path>) -> anyhow::Result<()> {
        let name = name.unwrap_or(Path::new("stdin.j2"));
        let bytes =
            judge::read_limited(io::stdin().lock()).context("cannot read standard input")?;
        let job = self.job(name.to_owned())?;
        let counter = self.counter.as_ref();
        let checked = match self.mode {
            None => judge::with_input(&job, &bytes, counter, |input| {
                job.settings.linter.check_input(input)
            }),
            Some(mode) => {
                let (repaired, text) = fixing::repair_bytes(&job, &bytes, mode, counter);
                if mode.goal != Goal::Show {
                    let unchanged = || String::from_utf8_lossy(&bytes).into_owned();
                    self.changes = text.unwrap_or_else(unchanged);
                }
                self.take_repaired(repaired, mode)
            }
        };
        self.take(name, checked, Named::ByUser);
        Ok(())
    }

    fn paths(&mut self, paths: &[PathBuf]) -> anyhow::Result<()> {
        let inputs = Inputs::find(paths, &mut self.settings)?;
        for skipped in inputs.missing {
            self.unreadable += 1;
            self.report.skipped.push(skipped);
        }
        let mut jobs = Vec::new();
        let mut named = Vec::new();
        for (path, how) in inputs.files {
            let is_meant = how == Named::ByUser || may_hold_prompts(&path.to_string_lossy());
            let is_touched = self.since.as_ref().is_none_or(|since| since.touch(&path));
            if is_meant && is_touched {
                jobs.push(self.job(path)?);
                named.push(how);
            }
        }
        let counter = self.counter.as_ref();
        let checked = match self.mode {
            None => judge::in_parallel(&jobs, |job| judge::judge(job, counter)),
            Some(mode) => {
                let work = |job: &Job| fixing::repair_file(job, mode, counter);
                let repaired = judge::in_parallel(&jobs, work).into_iter();
                repaired
                    .map(|each| self.take_repaired(each, mode))
                    .collect()
            }
        };
        for ((job, checked), how) in jobs.iter().zip(checked).zip(named) {
            self.take(&job.path, checked, how);
        }
        self.report.skipped.extend(inputs.excluded);
        self.report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        let is_empty = self.report.judged.is_empty() && self.report.skipped.is_empty();
        if is_empty && self.since.is_none() {
            let names: Vec<_> = paths
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            anyhow::bail!("no template in {}; {KNOWN_FILES}", names.join(", "));
        }
        Ok(())
    }

    fn job(&mut self, path: PathBuf) -> anyhow::Result<Job> {
        let settings = self.settings.of_file(&path)?;
        Ok(Job { path, settings })
    }

    fn take_repaired(&mut self, repaired: RepairedFile, mode: Mode) -> Checked {
        self.applied += repaired.applied;
        if let Some(diff) = repaired.diff.filter(|_| mode.goal == Goal::Show) {
            self.changes.push_str(&diff);
        }
        for remark in repaired.remarks {
            eprintln!("{remark}");
        }
        repaired.checked
    }

    fn take(&mut self, path: &Path, checked: Checked, named: Named) {
        let reason = match checked {
            Checked::Judged(mut outcome) => {
                if let Some(since) = &self.since {
                    since.keep(&mut outcome);
                }
                if let Some(baseline) = &self.baseline {
                    self.report.in_baseline += baseline.apply(&mut outcome);
                }
                return self.report.judged.push(outcome);
            }
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
                format!("not recognized as a template; {KNOWN_FILES}")
            }
        };
        self.report.skipped.push(Skipped {
            path: shown_path(path),
            reason,
        });
    }

    /// Prints, and says how it went.
    fn finish(self, args: &Args, of_run: &RunSettings) -> anyhow::Result<ExitCode> {
        if args.scope.write_baseline {
            return self.write_baseline(args, of_run);
        }
        match self.mode.map(|mode| mode.goal) {
            Some(Goal::Show) => {
                print(&output::diff(&self.changes))?;
                eprintln!("{}", counted(self.applied, "would be fixed"));
                return Ok(match (self.unreadable, self.applied) {
                    (0, 0) => ExitCode::SUCCESS,
                    (0, _) => ExitCode::from(EXIT_FINDINGS),
                    _ => ExitCode::from(EXIT_UNREADABLE),
                });
            }
            Some(goal) => {
                eprintln!("{}", counted(self.applied, "fixed"));
                let is_stdin = !self.changes.is_empty();
                print(&self.changes)?;
                if goal == Goal::FixOnly {
                    return Ok(self.exit_code(None));
                }
                let report = output::written(args, &self.report, &self.rules)?;
                if is_stdin {
                    io::stderr()
                        .write_all(report.as_bytes())
                        .context("cannot write the report")?;
                } else {
                    print(&report)?;
                }
            }
            None => print(&output::written(args, &self.report, &self.rules)?)?,
        }
        let given = args.fail_on.map(Severity::from);
        let limit = given.or(of_run.fail_on).unwrap_or(Severity::Warning);
        Ok(self.exit_code(Some(limit)))
    }

    fn write_baseline(&self, args: &Args, of_run: &RunSettings) -> anyhow::Result<ExitCode> {
        let path = args.scope.baseline.clone().or(of_run.baseline.clone());
        let path = path.context(
            "--write-baseline needs a file: --baseline FILE, or `baseline:` in the config",
        )?;
        let text = Baseline::write(&self.report).context("cannot write the baseline")?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        let written = format!("written to {}", path.display());
        eprintln!("{}", counted(self.report.count(), &written));
        Ok(self.exit_code(None))
    }

    /// `limit` is the least severe finding that counts; none if no finding does.
    fn exit_code(&self, limit: Option<Severity>) -> ExitCode {
        if self.unreadable > 0 {
            return ExitCode::from(EXIT_UNREADABLE);
        }
        match (self.report.worst(), limit) {
            (Some(worst), Some(limit)) if worst >= limit => ExitCode::from(EXIT_FINDINGS),
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

const KNOWN_FILES: &str = "docs/linting.md lists what is read";

fn counted(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 finding {what}"),
        n => format!("{n} findings {what}"),
    }
}

fn read_baseline(args: &Args, of_run: &RunSettings) -> anyhow::Result<Option<Baseline>> {
    if args.scope.write_baseline {
        return Ok(None);
    }
    let Some(path) = args.scope.baseline.as_ref().or(of_run.baseline.as_ref()) else {
        return Ok(None);
    };
    let shown = path.display().to_string();
    let json = fs::read_to_string(path)
        .with_context(|| format!("cannot read the baseline {shown}; --write-baseline makes it"))?;
    Ok(Some(Baseline::parse(&json, &shown)?))
}

/// The working folder as seen from the root of its repository: empty, or with a final `/`.
fn prefix() -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let root = here.ancestors().find(|folder| folder.join(".git").exists());
    let below = root.and_then(|root| here.strip_prefix(root).ok());
    match below.map(|below| below.display().to_string()) {
        Some(below) if !below.is_empty() => format!("{}/", below.replace('\\', "/")),
        _ => String::new(),
    }
}

/// A path as the user would write it.
pub(crate) fn shown_path(path: &Path) -> String {
    let text = path.display().to_string();
    text.strip_prefix("./").unwrap_or(&text).to_owned()
}
