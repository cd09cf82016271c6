//! What is simulated: traces, set-ups, engine profiles, settings of placement.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use headwater_placement::{Order, Policy, Settings};
use headwater_simulator::profile::Profile;
use headwater_simulator::read::{MAX_REQUESTS, read_trace};
use headwater_simulator::setup::{self, Fleet100, Users1000};
use headwater_simulator::trace::Trace;

use super::{Args, Setup};

/// Requests of a generated trace before it is scaled.
const GENERATED: [(&str, usize); 2] = [("rag-like", 12_000), ("shared-prefix", 20_000)];
/// The most workers of a run.
const MOST_WORKERS: usize = 1_024;

/// What all runs have in common.
pub(super) struct Workload {
    pub(super) traces: Vec<(String, Trace)>,
    pub(super) workers: Vec<usize>,
    pub(super) profile: Profile,
}

impl Workload {
    pub(super) fn of(args: &Args) -> anyhow::Result<Self> {
        let workers_in_range = args
            .workers
            .iter()
            .all(|workers| (1..=MOST_WORKERS).contains(workers));
        anyhow::ensure!(
            workers_in_range,
            "`--workers`: set it to 1 to {MOST_WORKERS}"
        );
        let profile = args.engine.as_deref().map(profile).transpose()?;
        let Some(name) = args.setup else {
            let mut traces: Vec<(String, Trace)> = Vec::new();
            for name in &args.traces {
                let (label, trace) = trace(name, args)?;
                let same = |of: &&(String, Trace)| of.0.split('#').next() == Some(label.as_str());
                let label = match traces.iter().filter(same).count() {
                    0 => label,
                    // Tables and means tell traces apart by their labels.
                    before => format!("{label}#{}", before + 1),
                };
                traces.push((label, trace));
            }
            let workers = if args.workers.is_empty() {
                vec![8]
            } else {
                args.workers.clone()
            };
            let profile = match profile {
                Some(profile) => profile,
                None => Profile::built_in("large").context("a built-in profile is broken")?,
            };
            return Ok(Self {
                traces,
                workers,
                profile,
            });
        };
        if let Some(users) = args.users {
            anyhow::ensure!(
                (1..=100_000).contains(&users),
                "`--users` is {users}: set it to 1 to 100000"
            );
        }
        let (label, setup) = match name {
            Setup::A => {
                let default = Users1000 {
                    seed: args.seed,
                    ..Users1000::default()
                };
                let think_ms = args.think_ms.map_or(default.think_ms, f64::from);
                (
                    "set-up a",
                    Users1000 {
                        users: args.users.unwrap_or(default.users),
                        think_ms,
                        ..default
                    }
                    .setup(),
                )
            }
            Setup::B => {
                let default = Fleet100 {
                    seed: args.seed,
                    ..Fleet100::default()
                };
                let think_ms = args.think_ms.map_or(default.think_ms, f64::from);
                (
                    "set-up b",
                    Fleet100 {
                        users: args.users.unwrap_or(default.users),
                        think_ms,
                        ..default
                    }
                    .setup(),
                )
            }
        };
        let workers = if args.workers.is_empty() {
            vec![setup.workers]
        } else {
            args.workers.clone()
        };
        let profile = profile.unwrap_or(setup.profile);
        Ok(Self {
            traces: vec![(label.to_owned(), setup.trace)],
            workers,
            profile,
        })
    }
}

fn trace(name: &str, args: &Args) -> anyhow::Result<(String, Trace)> {
    if let Some((_, requests)) = GENERATED.iter().find(|(generated, _)| *generated == name) {
        // Who asks for a number gets it.
        let asked = args.requests.map(|asked| asked.get().min(MAX_REQUESTS));
        let requests = asked.unwrap_or(*requests);
        let trace = match name {
            "rag-like" => setup::rag_like(requests, args.seed),
            _ => setup::shared_prefix_groups(requests, args.seed),
        };
        return Ok((name.to_owned(), trace));
    }
    let path = Path::new(name);
    let file = fs::File::open(path).with_context(|| format!("cannot read {name}"))?;
    let trace = read_trace(file, args.block).with_context(|| name.to_owned())?;
    // The name in tables: the file's, without what says how it is stored.
    let label = path.file_name().map_or_else(
        || name.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    let label = label
        .trim_end_matches(".zst")
        .trim_end_matches(".jsonl")
        .trim_end_matches(".csv");
    Ok((label.to_owned(), trace))
}

fn profile(name: &str) -> anyhow::Result<Profile> {
    if let Some(profile) = Profile::built_in(name) {
        return Ok(profile);
    }
    let text = fs::read_to_string(name).with_context(|| {
        format!(
            "`{name}` is neither a built-in profile ({}) nor a file",
            Profile::BUILT_IN.join(", ")
        )
    })?;
    Profile::from_yaml(&text).with_context(|| name.to_owned())
}

/// Settings of placement with some changed by `NAME=VALUE`.
pub(super) fn settings(mut settings: Settings, changes: &[String]) -> anyhow::Result<Settings> {
    for change in changes {
        let (name, value) = change
            .split_once('=')
            .with_context(|| format!("`--set {change}`: expected NAME=VALUE"))?;
        set(&mut settings, name.trim(), value.trim())
            .with_context(|| format!("`--set {change}`"))?;
    }
    Ok(settings)
}

fn set(settings: &mut Settings, name: &str, value: &str) -> anyhow::Result<()> {
    match name {
        "policy" => {
            let found = Policy::ALL
                .into_iter()
                .find(|policy| policy.as_str() == value);
            settings.policy = found.context("no such policy")?;
        }
        "order" => {
            let found = Order::ALL.into_iter().find(|order| order.as_str() == value);
            settings.order = found.context("expected shortest, fifo or off")?;
        }
        "max_ongoing" => settings.max_ongoing = value.parse()?,
        "fair_share_factor" => settings.fair_share_factor = value.parse()?,
        "spill_gap" => settings.spill_gap = value.parse()?,
        "spill_ms" => settings.spill_ms = value.parse()?,
        "hold_tokens" => settings.hold_tokens = value.parse()?,
        "ageing" => settings.ageing = value.parse()?,
        "max_held" => settings.max_held = value.parse()?,
        "max_hold_ms" => settings.max_hold = Duration::from_millis(value.parse()?),
        "rebound_ms" => settings.rebound_ms = value.parse()?,
        "patience_ms" => settings.patience = Duration::from_millis(value.parse()?),
        "max_drift" => settings.max_drift = value.parse()?,
        "high_watermark" => settings.high_watermark = value.parse()?,
        "low_watermark" => settings.low_watermark = value.parse()?,
        "hot_keep_share" => settings.hot_keep_share = value.parse()?,
        "residency_per_worker" => settings.residency_per_worker = value.parse()?,
        "fresh_share" => settings.fresh_share = value.parse()?,
        "miss_factor" => settings.miss_factor = value.parse()?,
        "congestion_factor" => settings.congestion_factor = value.parse()?,
        "active_ms" => settings.active_ms = value.parse()?,
        "near_tie_ms" => settings.near_tie_ms = value.parse()?,
        "draw_ms" => settings.draw_ms = value.parse()?,
        "draw_for_s" => settings.draw_for = Duration::from_secs(value.parse()?),
        "home_prior" => settings.home_prior = value.parse()?,
        "routers" => settings.routers = value.parse()?,
        _ => anyhow::bail!("no setting of this name can be changed here"),
    }
    Ok(())
}
