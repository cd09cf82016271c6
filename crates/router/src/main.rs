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

use command::{Command, Files, Origin};

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
    let router = Router::bind(config)?;
    let admin = match router.admin_addr() {
        Some(address) => format!("admin on http://{address}"),
        None => "no admin port".to_owned(),
    };
    eprintln!(
        "headwater-router: listening on http://{}, {admin} ({summary})",
        router.local_addr()
    );
    serve(router, &origin)
}

fn serve(router: Router, origin: &Origin) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime of the main thread")?;
    runtime.block_on(async {
        let stop = signals::until_stop(router.handle(), origin.clone())
            .context("cannot follow signals")?;
        router.run(stop).await?;
        Ok(())
    })
}
