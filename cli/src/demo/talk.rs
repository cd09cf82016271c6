//! One conversation: every turn is signed anew and carries the route of the last answer.

use anyhow::Context as _;
use headwater::{BytesTokenizer, Prompt, PromptBuilder, Segment, SignOptions, SignedPrompt};
use headwater_signature::{Route, RouteEcho};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::sleep;

use super::client::{self, Answer};
use super::load::Script;
use super::report::Turn;

/// What all conversations of a run share.
pub(super) struct Line {
    pub(super) http: reqwest::Client,
    /// Where the router listens.
    pub(super) url: String,
    /// Ticks once a turn.
    pub(super) progress: indicatif::ProgressBar,
}

/// Asks all questions of a script in order, each after the answer to the one before.
pub(super) async fn hold(line: &Line, script: &Script, system: &str) -> anyhow::Result<Vec<Turn>> {
    let mut talk = Talk {
        script,
        system,
        said: Vec::new(),
        echo: None,
    };
    let mut turns = Vec::new();
    for (number, question) in script.questions.iter().enumerate() {
        sleep(question.pause).await;
        let answer = talk.ask(line, &question.text).await?;
        line.progress.inc(1);
        turns.push(turn(number, &answer));
    }
    Ok(turns)
}

fn turn(number: usize, answer: &Answer) -> Turn {
    Turn {
        number,
        ttft: answer.ttft,
        prompt_tokens: answer.prompt_tokens,
        cached_tokens: answer.cached_tokens,
    }
}

struct Talk<'a> {
    script: &'a Script,
    system: &'a str,
    /// Questions and answers in turn.
    said: Vec<Segment>,
    echo: Option<RouteEcho>,
}

impl Talk<'_> {
    async fn ask(&mut self, line: &Line, question: &str) -> anyhow::Result<Answer> {
        self.said.push(Segment::user(question));
        let signed = self.sign()?;
        let answer =
            client::complete(&line.http, &line.url, signed.text(), headers(&signed)?).await?;
        self.said.push(Segment::assistant(answer.text.trim_end()));
        self.echo = answer
            .route
            .as_deref()
            .and_then(|route| echo(route, &signed));
        Ok(answer)
    }

    /// The prompt so far: the tenant's handbook, the conversation's document, what was said.
    fn sign(&self) -> anyhow::Result<SignedPrompt> {
        let document = Segment::system(self.script.document.as_str()).name("document");
        let front = Prompt::builder()
            .static_(Segment::system(self.system).name("handbook"))
            .semi_static(document);
        let options = SignOptions {
            model: "model".to_owned(),
            session: Some(self.script.session.clone()),
            echo: self.echo,
            ..SignOptions::default()
        };
        let mut said = self.said.iter().cloned();
        let first = said
            .next()
            .context("a conversation starts with a question")?;
        let prompt = said
            .fold(front.dynamic(first), PromptBuilder::dynamic)
            .build()?;
        Ok(prompt.sign(&BytesTokenizer, &options)?)
    }
}

fn headers(signed: &SignedPrompt) -> anyhow::Result<HeaderMap> {
    let pairs = signed.headers().into_iter();
    pairs
        .map(|(name, value)| Ok((HeaderName::from_static(name), HeaderValue::try_from(value)?)))
        .collect()
}

/// What the next turn tells a router that has never seen this conversation.
fn echo(route: &str, signed: &SignedPrompt) -> Option<RouteEcho> {
    let route = Route::parse(route.as_bytes()).ok()?;
    Some(RouteEcho {
        tag: route.worker,
        tokens: signed.tokens(),
    })
}
