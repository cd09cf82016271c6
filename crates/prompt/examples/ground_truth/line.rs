//! What is printed: requests ready to send, and what should come of them.

use headwater::SignedPrompt;
use headwater::signature::BlockSize;
use headwater::vllm::{BlockHashes, CacheSalt, HashSeed, predicted_cached};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Result;
use crate::pair::{ChatSide, Pair, Side};

/// One pair on one endpoint.
#[derive(Serialize)]
pub(crate) struct Line {
    case: &'static str,
    how: &'static str,
    endpoint: &'static str,
    equal: usize,
    predicted: usize,
    requests: [Request; 2],
}

#[derive(Serialize)]
struct Request {
    body: Body,
    tokens: Vec<u32>,
    /// One for each whole block, as the engine's events name it.
    blocks: Vec<u64>,
}

#[derive(Serialize)]
struct Body {
    #[serde(flatten)]
    prompt: PromptBody,
    add_special_tokens: bool,
    temperature: f64,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_salt: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PromptBody {
    Text {
        prompt: String,
    },
    Chat {
        messages: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        tools: Option<Box<RawValue>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        chat_template_kwargs: Option<Value>,
    },
}

/// The pair on each endpoint that both sides can be sent to.
pub(crate) fn lines(pair: &Pair, block: BlockSize) -> Result<Vec<Line>> {
    let sides = [&pair.first, &pair.second];
    let mut lines = Vec::new();
    if let [Some(first), Some(second)] = sides.map(|side| side.text.as_ref()) {
        let requests = [
            text_request(&pair.first, first, block)?,
            text_request(&pair.second, second, block)?,
        ];
        lines.push(line(pair, "completions", requests, block)?);
    }
    if let [Some(first), Some(second)] = sides.map(|side| side.chat.as_ref()) {
        let requests = [
            chat_request(&pair.first, first, block)?,
            chat_request(&pair.second, second, block)?,
        ];
        lines.push(line(pair, "chat", requests, block)?);
    }
    Ok(lines)
}

fn line(
    pair: &Pair,
    endpoint: &'static str,
    requests: [Request; 2],
    block: BlockSize,
) -> Result<Line> {
    let [first, second] = &requests;
    let equal = equal_leading(&first.tokens, &second.tokens);
    let predicted = if pair.first.cache_salt == pair.second.cache_salt {
        predicted_cached(equal, second.tokens.len(), block)
    } else {
        0
    };
    // The same once more from the names of the blocks, in which the salt is.
    let blocks = equal_leading(&first.blocks, &second.blocks);
    let tokens = blocks * usize::try_from(block.get())?;
    if predicted_cached(tokens, second.tokens.len(), block) != predicted {
        return Err(format!("{}: tokens and block hashes disagree", pair.case).into());
    }
    Ok(Line {
        case: pair.case,
        how: pair.how.as_str(),
        endpoint,
        equal,
        predicted,
        requests,
    })
}

fn text_request(side: &Side, signed: &SignedPrompt, block: BlockSize) -> Result<Request> {
    let prompt = PromptBody::Text {
        prompt: signed.text().to_owned(),
    };
    request(side, prompt, signed, block)
}

fn chat_request(side: &Side, chat: &ChatSide, block: BlockSize) -> Result<Request> {
    let tools = chat.tools.clone().map(RawValue::from_string);
    let prompt = PromptBody::Chat {
        messages: chat.messages.clone(),
        tools: tools.transpose()?,
        chat_template_kwargs: chat.switches.clone(),
    };
    request(side, prompt, &chat.rendered, block)
}

fn request(
    side: &Side,
    prompt: PromptBody,
    signed: &SignedPrompt,
    block: BlockSize,
) -> Result<Request> {
    let hashes = BlockHashes {
        seed: HashSeed::Default,
        block,
        salt: side.cache_salt.map(CacheSalt::new).transpose()?,
    };
    let tokens = signed.token_ids().to_vec();
    let blocks = hashes.of(&tokens);
    Ok(Request {
        body: Body {
            prompt,
            add_special_tokens: false,
            temperature: side.sampling.temperature,
            max_tokens: side.sampling.max_tokens,
            cache_salt: side.cache_salt,
        },
        tokens,
        blocks: blocks.iter().map(|block| block.event().get()).collect(),
    })
}

fn equal_leading<T: PartialEq>(first: &[T], second: &[T]) -> usize {
    first.iter().zip(second).take_while(|(a, b)| a == b).count()
}
