//! The `headwater` command: parses the command line, hands over to one file per subcommand, exits.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

mod completions;
mod demo;
mod explain;
mod lint;
mod lsp;
mod man;
mod rules;
mod sign;
mod simulate;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keeps prompts cacheable, and sends each to the worker that already holds its prefix.
#[derive(Parser)]
#[command(name = "headwater", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find what breaks the prefix cache in prompt templates.
    Lint(lint::Args),
    /// Explain a lint rule: what it finds, what it costs, how to fix it.
    Explain(explain::Args),
    /// List the lint rules.
    Rules(rules::Args),
    /// Serve findings and fixes to an editor (Language Server Protocol on standard input and output).
    Lsp(lsp::Args),
    /// Print a script that completes this command line in a shell.
    Completions(completions::Args),
    /// Write manual pages.
    #[command(hide = true)]
    Man(man::Args),
    /// Clean, tokenize and sign a prompt; print its text and headers.
    Sign(sign::Args),
    /// Compare placement policies on a recorded trace, in virtual time.
    Simulate(simulate::Args),
    /// Watch Headwater against round robin on this machine, with real HTTP and model engines.
    Demo(demo::Args),
}

/// Could not run, or an input could not be read.
const EXIT_FAILED: u8 = 2;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Lint(args) => lint::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Rules(args) => rules::run(&args),
        Command::Lsp(args) => lsp::run(&args),
        Command::Completions(args) => completions::run(&args, &mut Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
        Command::Sign(args) => sign::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Demo(args) => demo::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(EXIT_FAILED)
        }
    }
}

/// A reader that has seen enough (`headwater … | head`) is not an error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
