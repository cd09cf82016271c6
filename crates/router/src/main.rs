//! `headwater-router`: reads its settings, runs a router, follows signals.

mod command;
mod reload;
mod signals;
mod watched_file;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use headwater_router::Router;
use tokio::sync::oneshot;
use tracing_subscriber::EnvFilter;

use command::{Command, Files};
use signals::Signals;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(code) => code,
        Err(error) => {
            say(&mut std::io::stderr(), format_args!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    // Lines that nobody reads are dropped, sooner than that a thread waits for their reader.
    let (lines, _written_at_the_end) = tracing_appender::non_blocking(std::io::stderr());
    tracing_subscriber::fmt()
        .with_env_filter(filter()?)
        .with_writer(lines)
        // A reader that has gone is nobody to complain to.
        .log_internal_errors(false)
        // Colours are for people, not for files and collectors.
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    let origin = command.origin();
    // Before it is read: what is written to it from then on is news.
    let file = origin.watch();
    let config = command.config()?;
    let summary = config.to_string();
    if let Some(files) = command.check() {
        if files == Files::Read {
            Router::check(&config)?;
        }
        say(
            &mut std::io::stdout(),
            format_args!("{} is fine: {summary}", origin.name()),
        );
        return Ok(ExitCode::SUCCESS);
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
    let mut signals = signals.context("cannot follow signals")?;
    let router = Router::bind(config)?;
    let reader =
        reload::follow(router.handle(), &origin, file).context("cannot follow the settings")?;
    let admin = match router.admin_addr() {
        Some(address) => format!("admin on http://{address}"),
        None => "no admin port".to_owned(),
    };
    say(
        &mut std::io::stderr(),
        format_args!(
            "headwater-router: listening on http://{}, {admin} ({summary})",
            router.local_addr()
        ),
    );
    let (asked, stop) = oneshot::channel::<()>();
    let until_impatient = async {
        signals.until_stop(&reader).await;
        // What changes in the file from now on changes nothing.
        drop((asked, reader));
        tracing::info!("stopping: no new connections, streams may finish");
        signals.until_stop_again().await;
    };
    runtime.block_on(async {
        tokio::select! {
            ended = router.run(async { drop(stop.await) }) => {
                ended?;
                Ok(ExitCode::SUCCESS)
            }
            () = until_impatient => {
                tracing::warn!("stopping at once, as asked again: streams are cut off");
                Ok(ExitCode::from(CUT_OFF))
            }
        }
    })
}

/// The router ended before its streams did, as its operator wanted.
const CUT_OFF: u8 = 1;

/// What is logged: `HEADWATER_LOG`, or what operators want to know.
fn filter() -> anyhow::Result<EnvFilter> {
    const NAME: &str = "HEADWATER_LOG";
    match std::env::var(NAME) {
        Ok(text) if !text.is_empty() => EnvFilter::builder().parse(&text).with_context(|| {
            format!("{NAME}: `{text}` is no filter; write one such as `headwater_router=debug`")
        }),
        _ => Ok(EnvFilter::new("headwater_router=info")),
    }
}

/// Writes a line, whether or not somebody still reads.
fn say(out: &mut dyn Write, line: std::fmt::Arguments<'_>) {
    let _heard = writeln!(out, "{line}").and_then(|()| out.flush());
}
