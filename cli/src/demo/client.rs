//! The client of one request: sends a signed prompt, reads the stream, and keeps the time.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::json;

/// What came back for one prompt.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: String,
    /// From sending the request to the first token.
    pub(super) ttft: Duration,
    /// Both as the engine counted them.
    pub(super) prompt_tokens: u32,
    pub(super) cached_tokens: u32,
    /// The `Prefix-Route` header.
    pub(super) route: Option<String>,
}

/// Sends `prompt` with its headers to the completions endpoint behind `url`.
pub(super) async fn complete(
    client: &reqwest::Client,
    url: &str,
    prompt: &str,
    headers: reqwest::header::HeaderMap,
) -> anyhow::Result<Answer> {
    let body =
        json!({ "model": "model", "prompt": prompt, "max_tokens": ANSWER_TOKENS, "stream": true });
    let sent = Instant::now();
    let request = client
        .post(format!("{url}/v1/completions"))
        .headers(headers)
        .json(&body);
    let mut response = request
        .send()
        .await
        .context("sending a request to the router")?;
    if !response.status().is_success() {
        bail!("the router answered {}", response.status());
    }
    let route = response
        .headers()
        .get("prefix-route")
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let mut stream = Stream::default();
    let mut ttft = None;
    while let Some(chunk) = response.chunk().await.context("reading an answer")? {
        stream.push(&chunk)?;
        if ttft.is_none() && !stream.text.is_empty() {
            ttft = Some(sent.elapsed());
        }
    }
    let (Some(ttft), Some(usage)) = (ttft, stream.usage) else {
        bail!("an answer ended before its usage came");
    };
    Ok(Answer {
        text: stream.text,
        ttft,
        prompt_tokens: usage.prompt_tokens,
        cached_tokens: usage.prompt_tokens_details.cached_tokens,
        route,
    })
}

const ANSWER_TOKENS: u32 = 16;

/// An event stream as far as it has come.
#[derive(Default)]
struct Stream {
    unread: Vec<u8>,
    text: String,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Event {
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    text: String,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: u32,
    prompt_tokens_details: PromptDetails,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: u32,
}

impl Stream {
    /// Adds bytes, which may end anywhere, and reads the lines that are whole.
    fn push(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.unread.extend_from_slice(bytes);
        while let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            self.line(line.trim_ascii())?;
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> anyhow::Result<()> {
        let Some(data) = line.strip_prefix(b"data: ") else {
            return Ok(());
        };
        if data == b"[DONE]" {
            return Ok(());
        }
        let event: Event = serde_json::from_slice(data).context("reading an event of an answer")?;
        self.text
            .extend(event.choices.into_iter().map(|choice| choice.text));
        self.usage = event.usage.or(self.usage.take());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &str = concat!(
        "data: {\"choices\":[{\"index\":0,\"text\":\"yes \"}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"text\":\"now\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n",
        "data: [DONE]\n\n",
    );

    #[test]
    fn a_stream_reads_the_same_however_it_is_cut() {
        for size in 1..=EVENTS.len() {
            let mut stream = Stream::default();
            for piece in EVENTS.as_bytes().chunks(size) {
                stream.push(piece).unwrap();
            }
            let usage = stream.usage.unwrap();
            assert_eq!(stream.text, "yes now");
            assert_eq!(
                (
                    usage.prompt_tokens,
                    usage.prompt_tokens_details.cached_tokens
                ),
                (9, 4)
            );
        }
    }

    #[test]
    fn an_event_that_is_no_json_is_an_error() {
        assert!(Stream::default().push(b"data: {\n").is_err());
    }
}
