//! `headwater sign`: prompt file in, canonical text and headers out.

use std::io::Write;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use headwater::signature::{BlockSize, Route, RouteEcho};
use headwater::{
    AffinityMode, Align, BytesTokenizer, HfTokenizer, Salt, SignOptions, SignedPrompt,
    SpecialTokens, Tokenize,
};

mod prompt_file;

mod source;

mod locate;

mod report;

mod json;

use prompt_file::PromptFile;

/// Arguments of `headwater sign`.
#[derive(clap::Args)]
#[command(after_help = "\
Send a request with both headers:
  headwater sign prompt.yaml --format curl |
    xargs curl http://127.0.0.1:8080/v1/chat/completions --json @body.json

Continue a conversation where its last answer came from:
  headwater sign prompt.yaml --route-tokens 112 \\
    --route 'w=:AAECAw==:, matched=96, reason=home'")]
pub(crate) struct Args {
    /// The prompt file: YAML, or JSON if its name ends in .json. `-` reads standard input
    #[arg(value_name = "PROMPT.yaml")]
    prompt: PathBuf,
    /// The model's tokenizer.json. Without it, 4 bytes of text count as one token
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
    /// Let the tokenizer add its own start and end tokens, as completion endpoints do
    #[arg(long, requires = "tokenizer")]
    add_special_tokens: bool,
    /// Tokens in one block, 1 to 65536: the engine's block, or a divisor or multiple of it
    #[arg(long, value_name = "N", default_value = "16", value_parser = block_size)]
    block: BlockSize,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the canonical text to this file, exactly as it is to be sent
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The Prefix-Route header of the conversation's last answer
    #[arg(long, value_name = "VALUE", requires = "route_tokens", value_parser = route_tag)]
    route: Option<headwater::signature::RouteTag>,
    /// The prompt tokens of the request that it answered
    #[arg(long, value_name = "N", requires = "route")]
    route_tokens: Option<u32>,
    /// The conversation's id; wins over `session` in the prompt file
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// What Prefix-Affinity keeps together: auto, session, static or spread:K
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = affinity_mode)]
    affinity: AffinityMode,
    /// Lengthen stable parts to a block border: off, or newlines, which changes the prompt
    #[arg(long, value_name = "HOW", default_value = "off", value_parser = align)]
    align: Align,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// A report for people
    Text,
    /// One JSON object
    Json,
    /// One `-H 'Name: value'` a header, for xargs or eval
    Curl,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let file = PromptFile::read(&args.prompt)?;
    let options = options(args, &file)?;
    let prompt = file.prompt()?;
    let (signed, tokenizer) = match &args.tokenizer {
        Some(path) => {
            let special = if args.add_special_tokens {
                SpecialTokens::Added
            } else {
                SpecialTokens::Omitted
            };
            sign(&prompt, &HfTokenizer::from_file(path, special)?, &options)?
        }
        None => sign(&prompt, &BytesTokenizer, &options)?,
    };
    if let Some(path) = &args.output {
        std::fs::write(path, signed.text())
            .with_context(|| format!("cannot write the text to `{}`", path.display()))?;
    }
    let report = report::Report {
        file: file.name(),
        tokenizer: &tokenizer,
        signed: &signed,
    };
    let printed = match args.format {
        Format::Text => report.text(args.output.as_deref()),
        Format::Json => report.json()?,
        Format::Curl => report.curl(),
    };
    std::io::stdout()
        .lock()
        .write_all(printed.as_bytes())
        .context("cannot print the result")?;
    Ok(ExitCode::SUCCESS)
}

/// Signs, and says with what.
fn sign(
    prompt: &headwater::Prompt,
    tokenizer: &impl Tokenize,
    options: &SignOptions,
) -> anyhow::Result<(SignedPrompt, String)> {
    Ok((prompt.sign(tokenizer, options)?, tokenizer.identity()))
}

fn options(args: &Args, file: &PromptFile) -> anyhow::Result<SignOptions> {
    let echo = args
        .route
        .zip(args.route_tokens)
        .map(|(tag, tokens)| RouteEcho { tag, tokens });
    Ok(SignOptions {
        block: args.block,
        model: file.model().unwrap_or_default().to_owned(),
        salt: file.salt_env().map(salt).transpose()?,
        session: args
            .session
            .as_deref()
            .or(file.session())
            .map(str::to_owned),
        affinity: args.affinity,
        echo,
        align: args.align,
    })
}

/// Takes the tenant's secret from the environment. It is never printed, not even its length.
fn salt(variable: &str) -> anyhow::Result<Salt> {
    let value = std::env::var_os(variable)
        .filter(|value| !value.is_empty())
        .with_context(|| {
            format!(
                "the environment variable `{}` that `salt_env` names is not set; \
             export it, or remove `salt_env` to sign without a salt",
                variable.escape_debug()
            )
        })?;
    let salt = Salt::new(value.into_encoded_bytes());
    if salt.len() < Salt::MIN_BYTES {
        eprintln!(
            "warning: the salt in `{}` has fewer than {} bytes and can be guessed",
            variable.escape_debug(),
            Salt::MIN_BYTES
        );
    }
    Ok(salt)
}

fn block_size(text: &str) -> Result<BlockSize, String> {
    let tokens = text.parse().ok().and_then(BlockSize::new);
    tokens.ok_or_else(|| "expected 1 to 65536 tokens; most engines have 16".to_owned())
}

fn route_tag(text: &str) -> Result<headwater::signature::RouteTag, String> {
    let route = Route::parse(text.as_bytes());
    route.map(|route| route.worker).map_err(|error| {
        format!("{error}; copy the whole value of the last answer's Prefix-Route header")
    })
}

fn align(text: &str) -> Result<Align, String> {
    match text {
        "off" => Ok(Align::Off),
        "newlines" => Ok(Align::Newlines),
        _ => Err("expected off or newlines".to_owned()),
    }
}

fn affinity_mode(text: &str) -> Result<AffinityMode, String> {
    match (
        text,
        text.strip_prefix("spread:").map(str::parse::<NonZeroU32>),
    ) {
        ("auto", _) => Ok(AffinityMode::Auto),
        ("session", _) => Ok(AffinityMode::Session),
        ("static", _) => Ok(AffinityMode::Static),
        (_, Some(Ok(ways))) => Ok(AffinityMode::Spread(ways)),
        _ => Err("expected auto, session, static or spread:K with K from 1".to_owned()),
    }
}
