//! `headwater-router`: reads its settings, runs a router, follows signals.

mod command;
mod signals;
mod watched_file;

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use headwater_router::Router;
use tracing_subscriber::EnvFilter;

use command::{Command, Files};
use signals::Signals;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_env("HEADWATER_LOG")
        .unwrap_or_else(|_| EnvFilter::new("headwater_router=info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // Colours are for people, not for files and collectors.
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    let origin = command.origin();
    let config = command.config()?;
    let summary = config.to_string();
    if let Some(files) = command.check() {
        if files == Files::Read {
            Router::check(&config)?;
        }
        println!("{} is fine: {summary}", origin.name());
        return Ok(());
    }
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime of the main thread")?;
    // Before anybody can know that it is there: who asks it to stop at once is obeyed, too.
    let signals = runtime.block_on(async { Signals::catch() });
    let signals = signals.context("cannot follow signals")?;
    let router = Router::bind(config)?;
    let admin = match router.admin_addr() {
        Some(address) => format!("admin on http://{address}"),
        None => "no admin port".to_owned(),
    };
    eprintln!(
        "headwater-router: listening on http://{}, {admin} ({summary})",
        router.local_addr()
    );
    let stop = signals::until_stop(signals, router.handle(), origin);
    runtime.block_on(router.run(stop))?;
    Ok(())
}
