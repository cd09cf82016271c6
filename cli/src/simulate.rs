//! `headwater simulate`: policies over a trace in virtual time, as a table, JSON, CSV or a page.

use std::fs;
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::ValueEnum;
use headwater_placement::Settings;
use headwater_simulator::policy::{Corrections, HeadwaterOptions, PolicyName};
use headwater_simulator::report;
use headwater_simulator::run::{Conditions, Echoes, Reports};
use headwater_simulator::rungs::Naming;
use headwater_simulator::scenario::Scenario;
use headwater_simulator::sweep::{Cell, Sweep};
use indicatif::{ProgressBar, ProgressStyle};

use self::load::Workload;

mod load;

/// Arguments of `headwater simulate`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("reports").multiple(true)))]
pub(crate) struct Args {
    /// Traces: Mooncake JSONL, Headwater audit lines or Azure CSV, zstd, gzip or neither; or the generated
    /// `rag-like` and `shared-prefix`
    #[arg(required_unless_present = "setup", value_name = "TRACE")]
    traces: Vec<String>,
    /// A published set-up instead of a trace: a (32 replicas, 1,000 users, five turns) or b (100
    /// workers, contexts of 100,000 tokens)
    #[arg(long, value_enum, conflicts_with_all = ["traces", "load"])]
    setup: Option<Setup>,
    /// Users of the set-up at a time
    #[arg(long, value_name = "N", requires = "setup")]
    users: Option<usize>,
    /// Milliseconds between an answer and the next question of the set-up, in the mean
    #[arg(long, value_name = "MS", requires = "setup", value_parser = clap::value_parser!(u32).range(0..=3_600_000))]
    think_ms: Option<u32>,
    /// Policies to compare, or `all`
    #[arg(
        long,
        visible_alias = "compare",
        value_delimiter = ',',
        value_name = "NAMES",
        default_value = "headwater,least-requests,session-hash,sglang,llm-d"
    )]
    policy: Vec<String>,
    /// Numbers of workers [default: 8, or the set-up's]
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    workers: Vec<usize>,
    /// Sizes of a worker's cache in tokens [default: the profile's]
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    cache_tokens: Vec<u64>,
    /// Scale the trace to these shares of the workers' time; without, it runs as recorded
    #[arg(long, value_delimiter = ',', value_name = "SHARE,…")]
    load: Vec<f64>,
    /// The most requests of a run, the first ones [default: all, or 30,000 under --load]
    #[arg(long, value_name = "N", conflicts_with = "setup")]
    requests: Option<NonZeroUsize>,
    /// Names in a prompt's header at most
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u8).range(1..=16))]
    rungs: u8,
    /// Which prefixes are named: borders and ladder as the SDK does, the ladder alone, or half each
    #[arg(long, value_enum, default_value_t = Names::Borders)]
    names: Names,
    /// Routers in front, each with a memory of its own
    #[arg(long, value_name = "N", default_value_t = 1)]
    routers: usize,
    /// Which router gets a request
    #[arg(long, value_enum, default_value_t = SplitBy::Random)]
    split: SplitBy,
    /// Clients return where their last answer came from
    #[arg(long)]
    echo: bool,
    /// Routers hear from engines how many requests run and wait, and how full the cache is
    #[arg(long, group = "reports")]
    reported_load: bool,
    /// Milliseconds between two of these reports; 0: load is known at each decision
    #[arg(long, value_name = "MS", default_value_t = 500, requires = "reports", value_parser = clap::value_parser!(u32).range(0..=3_600_000))]
    report_every_ms: u32,
    /// Routers hear that with every answer as well: how many wait, and how full the cache is
    #[arg(long, group = "reports")]
    report_with_answers: bool,
    /// Our routers learn from answers how many tokens were cached
    #[arg(long)]
    reported_hits: bool,
    /// What a worker takes for its work: large, small, or a YAML file
    #[arg(long, value_name = "NAME|FILE")]
    engine: Option<String>,
    /// What goes wrong and when: a YAML file
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Changes a setting of ours; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// Tokens in a block of the trace, where it does not tell
    #[arg(long, value_name = "N")]
    block: Option<u32>,
    /// What everything drawn is drawn from; other than 1, traces begin at another moment
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Runs at a time [default: one a processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// How to write the outcome
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// In JSON, also how hits, waiting and load went over time
    #[arg(long)]
    over_time: bool,
    /// Where to write it instead of to the terminal
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Setup {
    A,
    B,
}

#[derive(Clone, Copy, ValueEnum)]
enum Names {
    Borders,
    Ladder,
    Half,
}

#[derive(Clone, Copy, ValueEnum)]
enum SplitBy {
    Random,
    Affinity,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Json,
    Csv,
    Html,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        !args.over_time || matches!(args.format, Format::Json),
        "`--over-time` is for JSON: add `--format json`"
    );
    anyhow::ensure!(
        args.setup.is_some() || args.users.is_none() && args.think_ms.is_none(),
        "`--users` and `--think-ms` are of a set-up: add `--setup a` or `b`, or leave them away"
    );
    let workload = Workload::of(args)?;
    let policies = policies(&args.policy)?;
    let conditions = conditions(args)?;
    for workers in &workload.workers {
        let fits = conditions.scenario.fits(*workers, conditions.routers);
        fits.with_context(|| format!("the scenario, with {workers} workers"))?;
    }
    let sweep = Sweep {
        traces: &workload.traces,
        profile: &workload.profile,
        workers: &workload.workers,
        caches: &args.cache_tokens,
        loads: &args.load,
        policies: &policies,
        most_requests: args.requests.map(NonZeroUsize::get),
        threads: args.threads.unwrap_or_else(processors),
        conditions: &conditions,
    };
    let progress = progress_bar(sweep.runs());
    let cells = sweep.run(&|cell: &Cell| {
        progress.set_message(cell.outcome.policy.as_str());
        progress.inc(1);
    });
    progress.finish_and_clear();
    write(args, &cells.context("the settings of placement")?)?;
    Ok(ExitCode::SUCCESS)
}

fn policies(names: &[String]) -> anyhow::Result<Vec<PolicyName>> {
    if names.iter().any(|name| name == "all") {
        return Ok(PolicyName::ALL.to_vec());
    }
    let mut policies = Vec::new();
    for name in names {
        let policy = name.trim().parse::<PolicyName>()?;
        if !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    Ok(policies)
}

fn conditions(args: &Args) -> anyhow::Result<Conditions> {
    anyhow::ensure!(
        (1..=64).contains(&args.routers),
        "`--routers` is {}: set it to 1 to 64",
        args.routers
    );
    for load in &args.load {
        anyhow::ensure!(
            *load > 0.0 && *load <= 10.0,
            "`--load` is {load}: set it to a share above 0 and up to 10"
        );
    }
    anyhow::ensure!(
        args.cache_tokens.iter().all(|tokens| *tokens > 0),
        "`--cache-tokens` is 0: set it to 1 or more"
    );
    let scenario = match &args.scenario {
        Some(path) => {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            Scenario::from_yaml(&text).with_context(|| path.display().to_string())?
        }
        None => Scenario::default(),
    };
    Ok(Conditions {
        routers: args.routers,
        split: match args.split {
            SplitBy::Random => headwater_simulator::run::Split::Random,
            SplitBy::Affinity => headwater_simulator::run::Split::Affinity,
        },
        echoes: if args.echo {
            Echoes::Returned
        } else {
            Echoes::Dropped
        },
        reports: match (args.reported_load, args.report_with_answers) {
            (_, true) => Reports::LoadWithAnswers,
            (true, false) => Reports::Load,
            (false, false) => Reports::None,
        },
        report_every_ms: f64::from(args.report_every_ms),
        settings: load::settings(
            Settings {
                routers: u32::try_from(args.routers).unwrap_or(1),
                // Whoever shards tells the routers so.
                home_prior: match args.split {
                    SplitBy::Affinity => 0.0,
                    SplitBy::Random => Settings::default().home_prior,
                },
                ..Settings::default()
            },
            &args.settings,
        )?,
        ours: HeadwaterOptions {
            corrections: match args.reported_hits {
                true => Corrections::CachedTokens,
                false => Corrections::None,
            },
            rungs: usize::from(args.rungs),
            naming: match args.names {
                Names::Borders => Naming::Borders,
                Names::Ladder => Naming::Ladder,
                Names::Half => Naming::Half,
            },
        },
        seed: args.seed,
        scenario,
        ..Conditions::of(1)
    })
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// On stderr, and only where it is a terminal.
fn progress_bar(runs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {msg}, {eta} to go");
    let bar = ProgressBar::new(runs as u64);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn write(args: &Args, cells: &[Cell]) -> anyhow::Result<()> {
    let text = match args.format {
        Format::Table => report::table(cells),
        Format::Json if args.over_time => report::json_over_time(cells),
        Format::Json => report::json(cells),
        Format::Csv => report::csv(cells),
        Format::Html => report::html(cells),
    };
    match &args.output {
        Some(path) => {
            fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
        }
        None => Ok(io::stdout().lock().write_all(text.as_bytes())?),
    }
}
