//! Two prompts of one case, signed by the SDK, and how they are sent.

use std::path::Path;
use std::sync::Arc;

use headwater::signature::BlockSize;
use headwater::{
    Chat, ControlText, HfTokenizer, Prompt, Segment, SignOptions, SignedPrompt, SpecialTokens, Turn,
};
use serde_json::Value;

use crate::Result;

/// The question of most pairs.
pub(crate) const QUESTION: &str = "Is berth 17 free tonight?";

/// Two requests, of which the second meets a cache that holds the first.
pub(crate) struct Pair {
    pub(crate) case: &'static str,
    pub(crate) how: How,
    pub(crate) first: Side,
    pub(crate) second: Side,
}

pub(crate) fn pair(case: &'static str, how: How, first: Side, second: Side) -> Pair {
    Pair {
        case,
        how,
        first,
        second,
    }
}

/// Who decides the bytes of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// The caller: nothing is cleaned or sorted.
    AsWritten,
    /// The SDK.
    Sdk,
}

impl How {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::AsWritten => "as written",
            Self::Sdk => "sdk",
        }
    }
}

/// One prompt of a pair.
#[derive(Clone)]
pub(crate) struct Side {
    /// For the endpoint that completes text.
    pub(crate) text: Option<SignedPrompt>,
    /// For the chat endpoint.
    pub(crate) chat: Option<ChatSide>,
    pub(crate) sampling: Sampling,
    pub(crate) cache_salt: Option<&'static str>,
}

/// A prompt as a chat endpoint takes it.
#[derive(Clone)]
pub(crate) struct ChatSide {
    pub(crate) messages: Value,
    /// A JSON list, its keys in the order in which they are sent.
    pub(crate) tools: Option<String>,
    /// Switches of the engine's template.
    pub(crate) switches: Option<Value>,
    /// The text that the engine's template makes of it.
    pub(crate) rendered: SignedPrompt,
}

/// What a request says besides its prompt.
#[derive(Clone, Copy)]
pub(crate) struct Sampling {
    pub(crate) temperature: f64,
    pub(crate) max_tokens: u32,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            max_tokens: 1,
        }
    }
}

impl Side {
    /// A prompt without roles.
    pub(crate) fn of_text(text: SignedPrompt) -> Self {
        Self {
            text: Some(text),
            chat: None,
            sampling: Sampling::default(),
            cache_salt: None,
        }
    }

    /// A chat without tools, of which the engine's template makes the very text that is signed.
    pub(crate) fn of_chat(signed: SignedPrompt) -> Result<Self> {
        let messages = signed.messages_json().ok_or("a chat has messages")?;
        let chat = ChatSide {
            messages,
            tools: None,
            switches: None,
            rendered: signed.clone(),
        };
        Ok(Self {
            chat: Some(chat),
            ..Self::of_text(signed)
        })
    }
}

/// The SDK with everything that the pairs have in common.
pub(crate) struct Sdk {
    pub(crate) tokenizer: Arc<HfTokenizer>,
    pub(crate) options: SignOptions,
}

impl Sdk {
    /// Control tokens in text are read as the engine reads them, so that ids are equal.
    pub(crate) fn new(file: &Path, block: BlockSize) -> Result<Self> {
        let tokenizer = HfTokenizer::from_file(file, SpecialTokens::Omitted)?;
        Ok(Self {
            tokenizer: Arc::new(tokenizer.control_text(ControlText::Control)),
            options: SignOptions {
                block,
                ..SignOptions::default()
            },
        })
    }

    pub(crate) fn sign(&self, prompt: &Prompt) -> Result<SignedPrompt> {
        Ok(prompt.sign(&self.tokenizer, &self.options)?)
    }

    /// One text, cleaned in its stable part or not, and a question.
    pub(crate) fn completion(&self, how: How, text: &str, question: &str) -> Result<Side> {
        let builder = Prompt::builder().static_(segment(how, text));
        Ok(Side::of_text(
            self.sign(&builder.dynamic(question).build()?)?,
        ))
    }

    /// Instructions, cleaned or not, and a question.
    pub(crate) fn chat(&self, how: How, system: &str, question: &str) -> Result<Side> {
        Side::of_chat(self.sign_chat(how, system, question)?)
    }

    pub(crate) fn sign_chat(&self, how: How, system: &str, question: &str) -> Result<SignedPrompt> {
        let chat = Chat::new().system(segment(how, system));
        self.sign(&chat.turn(Turn::user(question)).prompt()?)
    }
}

fn segment(how: How, text: &str) -> Segment {
    match how {
        How::AsWritten => Segment::new(text).verbatim(),
        How::Sdk => Segment::new(text),
    }
}
