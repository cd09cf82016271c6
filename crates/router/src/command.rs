//! The command line, and the settings that it leads to.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};
use headwater_placement::Policy;
use headwater_router::Config;

use crate::watched_file::WatchedFile;

/// Sends each request to the worker that holds the prefix of its prompt.
#[derive(Parser)]
#[command(
    name = "headwater-router",
    version,
    args_conflicts_with_subcommands = true,
    override_usage = "headwater-router --listen <ADDR> --workers <URL,…> [OPTIONS]\n       \
                      headwater-router --config <FILE>\n       \
                      headwater-router check --config <FILE>"
)]
pub(crate) struct Command {
    #[command(subcommand)]
    check: Option<Check>,
    #[command(flatten)]
    settings: SettingsArgs,
}

#[derive(Subcommand)]
enum Check {
    /// Reads a configuration file, says whether it can be used, and ends.
    Check {
        /// The file (YAML or JSON).
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Leaves out the files that it names (certificates, tokens), which may be elsewhere.
        #[arg(long)]
        without_files: bool,
    },
}

#[derive(Args)]
struct SettingsArgs {
    /// Settings from a file (YAML or JSON), read again when it changes and on SIGHUP.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["listen", "workers", "admin", "policy", "threads"])]
    config: Option<PathBuf>,
    /// Where requests come in, such as 127.0.0.1:8080.
    #[arg(long, value_name = "ADDR", required_unless_present = "config")]
    listen: Option<SocketAddr>,
    /// The engines, such as http://127.0.0.1:8001,http://127.0.0.1:8002.
    #[arg(
        long,
        value_name = "URL,…",
        value_delimiter = ',',
        required_unless_present = "config"
    )]
    workers: Vec<String>,
    /// Where operators look [default: loopback, the port of --listen + 1000].
    #[arg(long, value_name = "ADDR")]
    admin: Option<SocketAddr>,
    /// How requests are placed.
    #[arg(long, value_name = "POLICY", value_parser = ["cost", "ring", "least_requests", "round_robin"])]
    policy: Option<String>,
    /// Threads that serve requests [default: one for each CPU].
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// Whether a check reads the files that a configuration names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    Read,
    LeftOut,
}

/// Where the settings come from.
#[derive(Clone)]
pub(crate) enum Origin {
    File(PathBuf),
    Arguments,
}

impl Origin {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Arguments => "command line".to_owned(),
        }
    }

    /// Begins to watch the file, if it is one.
    pub(crate) fn watch(&self) -> Option<WatchedFile> {
        match self {
            Self::File(path) => Some(WatchedFile::new(path)),
            Self::Arguments => None,
        }
    }
}

impl Command {
    /// What is to be checked, if nothing is to run.
    pub(crate) fn check(&self) -> Option<Files> {
        self.check.as_ref().map(|check| match check {
            Check::Check {
                without_files: true,
                ..
            } => Files::LeftOut,
            Check::Check { .. } => Files::Read,
        })
    }

    pub(crate) fn origin(&self) -> Origin {
        let file = match &self.check {
            Some(Check::Check { config, .. }) => Some(config),
            None => self.settings.config.as_ref(),
        };
        file.map_or(Origin::Arguments, |file| Origin::File(file.clone()))
    }

    pub(crate) fn config(&self) -> anyhow::Result<Config> {
        match self.origin() {
            Origin::File(path) => read(&path),
            Origin::Arguments => self.settings.config(),
        }
    }
}

impl SettingsArgs {
    fn config(&self) -> anyhow::Result<Config> {
        let Some(listen) = self.listen else {
            bail!("no address to listen on; give --listen or --config");
        };
        let workers = Config::workers_of_urls(self.workers.iter().map(String::as_str))?;
        let mut config = Config::new(listen, workers);
        config.admin = self.admin;
        config.threads = self.threads;
        let policy = self.policy.as_deref();
        if let Some(policy) = Policy::ALL.iter().find(|p| Some(p.as_str()) == policy) {
            config.policy = *policy;
        }
        Ok(config)
    }
}

/// Reads a configuration file.
pub(crate) fn read(path: &Path) -> anyhow::Result<Config> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the configuration `{name}`"))?;
    Ok(Config::parse(&text, &name)?)
}
