//! `headwater demo`: the same load on the same machine under three policies.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use headwater_placement::Policy;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::task::JoinSet;

mod dice;
mod load;

mod client;
mod talk;

mod cache;
mod engine;
mod fleet;
mod worker;

mod report;

use fleet::Fleet;
use load::{Load, TURNS};
use report::{Outcome, Report, Turn};
use talk::Line;

/// Arguments of `headwater demo`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many conversations of five turns to hold under each policy.
    #[arg(long, value_name = "N", default_value_t = 48, value_parser = clap::value_parser!(u16).range(1..=512))]
    conversations: u16,
    /// What the texts and the arrivals are drawn from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The policies in the order in which they run, with their names in the output.
const POLICIES: [(Policy, &str); 3] = [
    (Policy::RoundRobin, "round_robin"),
    (Policy::LeastRequests, "least_requests"),
    (Policy::Cost, "headwater"),
];

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
    let load = Arc::new(Load::new(args.seed, usize::from(args.conversations)));
    let progress = progress_bar(POLICIES.len() * load.conversations.len() * TURNS);
    let mut outcomes = Vec::new();
    for (policy, name) in POLICIES {
        progress.set_message(name);
        let outcome = runtime.block_on(measure(policy, name, &load, &progress));
        outcomes.push(outcome.with_context(|| format!("running the load under {name}"))?);
    }
    progress.finish_and_clear();
    print(&outcomes, args)?;
    Ok(ExitCode::SUCCESS)
}

/// Holds all conversations with cold workers behind a fresh router.
async fn measure(
    policy: Policy,
    name: &'static str,
    load: &Arc<Load>,
    progress: &ProgressBar,
) -> anyhow::Result<Outcome> {
    let fleet = Fleet::start(policy).await?;
    let line = Arc::new(Line {
        http: reqwest::Client::new(),
        url: fleet.url(),
        progress: progress.clone(),
    });
    let mut talks = JoinSet::new();
    for index in 0..load.conversations.len() {
        talks.spawn(hold(Arc::clone(&line), Arc::clone(load), index));
    }
    let mut turns = Vec::new();
    while let Some(talk) = talks.join_next().await {
        turns.extend(talk.context("a conversation stopped")??);
    }
    Ok(Outcome {
        policy: name,
        turns,
        requests_per_worker: fleet.requests_per_worker(),
    })
}

async fn hold(line: Arc<Line>, load: Arc<Load>, index: usize) -> anyhow::Result<Vec<Turn>> {
    let script = load
        .conversations
        .get(index)
        .context("no such conversation")?;
    let system = load.systems.get(script.tenant).context("no such tenant")?;
    talk::hold(&line, script, system).await
}

/// Draws on stderr, and only on a terminal.
fn progress_bar(turns: usize) -> ProgressBar {
    let bar = ProgressBar::new(turns as u64);
    let style = ProgressStyle::with_template("{msg:<15} [{bar:40}] {pos}/{len} turns {elapsed:>5}");
    // The template is a constant; a mistake in it would leave the default style.
    if let Ok(style) = style {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(250));
    bar
}

fn print(outcomes: &[Outcome], args: &Args) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if args.json {
        let report = Report { policies: outcomes };
        return writeln!(out, "{}", serde_json::to_string_pretty(&report)?);
    }
    writeln!(
        out,
        "{} conversations of {TURNS} turns over {} workers, seed {}\n",
        args.conversations,
        fleet::WORKERS,
        args.seed,
    )?;
    writeln!(out, "{}", report::table(outcomes))?;
    if let [theirs, .., ours] = outcomes {
        writeln!(out, "{}\n", report::summary(theirs, ours))?;
    }
    writeln!(out, "{}", report::REMARK)
}
