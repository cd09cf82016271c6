//! A signed prompt: text, messages and names, which belong together.

use std::fmt;
use std::sync::Arc;

use headwater_signature::{AffinityKey, HEADER_AFFINITY, HEADER_SIGNATURE, Signature};

use crate::{
    Change, Message, Tokens, Warning, align::Padding, borders::Borders, message, render::Rendered,
};

/// A prompt's text and the names of its prefixes. Neither can be had without the other.
#[derive(Clone)]
pub struct SignedPrompt {
    pub(crate) rendered: Arc<Rendered>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) borders: Borders,
    pub(crate) signature: Signature,
    pub(crate) affinity: AffinityKey,
    pub(crate) notes: Arc<Notes>,
    /// The model that it was signed for; empty if there is only one.
    pub(crate) model: Arc<str>,
    /// What keeps the tenant's prefixes apart in an engine that takes a salt.
    pub(crate) cache_salt: Option<Arc<str>>,
}

/// What cleaning and alignment did to a prompt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    pub(crate) changes: Arc<Vec<Change>>,
    pub(crate) warnings: Arc<Vec<Warning>>,
    pub(crate) paddings: Vec<Padding>,
}

impl SignedPrompt {
    /// The canonical text, for an endpoint that completes text. A chat prompt's text ends where
    /// the model is to speak.
    pub fn text(&self) -> &str {
        &self.rendered.text
    }

    /// The messages, for a chat endpoint: views of the signed text. `None` for a prompt without
    /// roles.
    pub fn messages(&self) -> Option<Vec<Message<'_>>> {
        message::read(&self.rendered)
    }

    /// The messages in the JSON form of chat endpoints: `[{"role": …, "content": …}, …]`, with
    /// media parts, tool calls and their results where there are any.
    pub fn messages_json(&self) -> Option<serde_json::Value> {
        Some(self.messages()?.iter().map(Message::json).collect())
    }

    /// The tools as one JSON list, in the canonical form that was signed. It belongs into the
    /// request's `tools` as it stands, numbers verbatim.
    pub fn tools_json(&self) -> Option<&str> {
        self.rendered.tools()
    }

    /// Tokens in the whole prompt, as the tokenizer counts them.
    pub fn tokens(&self) -> u32 {
        self.signature.tokens()
    }

    /// The ids of all tokens, in order: what an engine's own names for its blocks are made of,
    /// see [`vllm`](crate::vllm).
    pub fn token_ids(&self) -> &[u32] {
        &self.tokens.ids
    }

    /// Whole blocks in the prompt.
    pub fn blocks(&self) -> u32 {
        self.tokens() / self.signature.block().get()
    }

    /// The names of the prefixes. Without rungs for a prompt shorter than a block.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The conversation's key.
    pub fn affinity(&self) -> AffinityKey {
        self.affinity
    }

    /// Header names, in lower case, with their values: send both with the request.
    pub fn headers(&self) -> [(&'static str, String); 2] {
        [
            (HEADER_SIGNATURE, self.signature.to_string()),
            (HEADER_AFFINITY, self.affinity.to_string()),
        ]
    }

    /// What cleaning changed.
    pub fn changes(&self) -> &[Change] {
        &self.notes.changes
    }

    /// What was kept and deserves a look.
    pub fn warnings(&self) -> &[Warning] {
        &self.notes.warnings
    }
}

impl fmt::Debug for SignedPrompt {
    /// Shows the names and nothing of the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedPrompt")
            .field("signature", &self.signature)
            .field("affinity", &self.affinity)
            .finish_non_exhaustive()
    }
}
