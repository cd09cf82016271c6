//! Request bodies for hosted providers and engines, from the same value that was signed.
//!
//! [`SignedPrompt::body`] writes the signed text in the form of an [`Api`], its keys in a fixed
//! order, and puts cache markers where the prompt's parts end. What providers allow comes from
//! [`provider`](crate::provider), whose rows have sources and dates; what follows from that and a
//! caller should know comes back as [notes](Body::notes).
//!
//! | `Api` | order of the body | markers | besides |
//! |---|---|---|---|
//! | [`OpenAiChat`](Api::OpenAiChat) | model, tools, messages | models that have them: static end, semi-static end, end of the previous request; the newest end is marked by OpenAI | `prompt_cache_key`, a longer lifetime if asked for |
//! | [`OpenAiResponses`](Api::OpenAiResponses) | model, tools, input | the same | the same |
//! | [`AzureChat`](Api::AzureChat) | model, tools, messages | none | the same |
//! | [`AnthropicMessages`](Api::AnthropicMessages) | model, tools, system, messages | `cache_control` at the static end, the semi-static end, the newest end, and in long histories | |
//! | [`AnthropicVertex`](Api::AnthropicVertex) | anthropic_version, tools, system, messages | the same; this platform hashes the text of the body, so the order counts | |
//! | [`BedrockConverse`](Api::BedrockConverse) | toolConfig, system, messages | `cachePoint` at the same places, never inside a tool's result | a parameter `toolChoice` goes into toolConfig |
//! | [`GeminiContent`](Api::GeminiContent) | systemInstruction, tools, contents | none: the order does it | `cachedContent` in the place of instructions and tools, see [`BodyOptions::cached_content`] |
//! | [`DeepSeekChat`](Api::DeepSeekChat) | model, tools, messages | none: the order does it | |
//! | [`DashScopeChat`](Api::DashScopeChat) | model, tools, messages | `cache_control`, as for Anthropic but never on tools; or none ([`Markers::Omitted`]) | |
//! | [`VllmChat`](Api::VllmChat) | model, tools, messages | none | `cache_salt` if the tenant has a [`Salt`](crate::Salt) |
//! | [`SglangChat`](Api::SglangChat) | model, tools, messages | none | the same |
//!
//! Behind all of it come the caller's [parameters](BodyOptions::parameters). So bodies of two
//! turns of a conversation are equal, markers aside, up to the end of the last block that they
//! share.
//!
//! # Anthropic
//!
//! A stored prefix is found if it ends a few blocks before a marker (20 at most, as the published
//! rows have it). Where a turn adds more,
//! as one with many tool calls does, a further marker stands where the previous request ended, or
//! between.
//!
//! ```
//! use headwater::body::{Api, BodyOptions, Keep, MarkerPlace};
//! use headwater::{BytesTokenizer, Chat, SignOptions, Turn};
//!
//! let options = SignOptions { model: "claude-sonnet-4-5".into(), ..SignOptions::default() };
//! let signed = Chat::new()
//!     .system("You answer questions about the harbour. ".repeat(200))
//!     .semi_static("Tenant: North Quay.")
//!     .turn(Turn::user("When is high tide?"))
//!     .prompt()?
//!     .sign(&BytesTokenizer, &options)?;
//!
//! let options = BodyOptions {
//!     keep: Keep::LongStable,
//!     parameters: vec![("max_tokens".into(), 1024.into())],
//!     ..BodyOptions::default()
//! };
//! let body = signed.body(Api::AnthropicMessages, &options)?;
//! assert!(body.as_str().starts_with(r#"{"model":"claude-sonnet-4-5","system":[{"type":"text","#));
//! assert!(body.as_str().ends_with(concat!(
//!     r#""text":"Tenant: North Quay.\n","cache_control":{"type":"ephemeral","ttl":"1h"}}],"#,
//!     r#""messages":[{"role":"user","content":[{"type":"text","text":"When is high tide?","#,
//!     r#""cache_control":{"type":"ephemeral"}}]}],"max_tokens":1024}"#,
//! )));
//! assert_eq!(
//!     body.markers(),
//!     [MarkerPlace::StaticEnd, MarkerPlace::SemiStaticEnd, MarkerPlace::Newest],
//! );
//! # Ok::<(), headwater::Error>(())
//! ```
//!
//! # OpenAI and Azure
//!
//! `prompt_cache_key` is the [affinity key](SignedPrompt::affinity). Sign with a session id, so
//! that a conversation has one key from its first turn on. Older models take no marker and cache
//! whatever prefix repeats; from GPT-5.6 on a prefix is found where it was marked.
//!
//! ```
//! use headwater::body::{Api, BodyNote, BodyOptions};
//! # use headwater::{BytesTokenizer, Chat, SignOptions, Turn};
//! # let sign = |model: &str| {
//! #     let options = SignOptions { model: model.into(), session: Some("7".into()), ..SignOptions::default() };
//! #     Ok::<_, headwater::Error>(Chat::new()
//! #         .system("You answer questions about the harbour. ".repeat(200))
//! #         .turn(Turn::user("When is high tide?"))
//! #         .prompt()?
//! #         .sign(&BytesTokenizer, &options)?)
//! # };
//! let signed = sign("gpt-5.1")?;
//! let key = format!(r#""prompt_cache_key":"{}""#, signed.affinity());
//! for api in [Api::OpenAiChat, Api::AzureChat] {
//!     let body = signed.body(api, &BodyOptions::default())?;
//!     assert!(body.as_str().contains(&key) && body.markers().is_empty());
//! }
//!
//! let body = sign("gpt-5.6")?.body(Api::OpenAiResponses, &BodyOptions::default())?;
//! assert!(body.as_str().contains(r#""prompt_cache_breakpoint":{"mode":"explicit"}"#));
//! # Ok::<(), headwater::Error>(())
//! ```
//!
//! # Bedrock
//!
//! ```
//! use headwater::body::{Api, BodyOptions};
//! # use headwater::{BytesTokenizer, Chat, SignOptions, Turn};
//! # let options = SignOptions { model: "anthropic.claude-fable-5-v1:0".into(), ..SignOptions::default() };
//! # let signed = Chat::new()
//! #     .system("You answer questions about the harbour. ".repeat(200))
//! #     .turn(Turn::user("When is high tide?"))
//! #     .prompt()?
//! #     .sign(&BytesTokenizer, &options)?;
//! let body = signed.body(Api::BedrockConverse, &BodyOptions::default())?;
//! assert!(body.as_str().ends_with(concat!(
//!     r#""messages":[{"role":"user","content":[{"text":"When is high tide?"},"#,
//!     r#"{"cachePoint":{"type":"default"}}]}]}"#,
//! )));
//! # Ok::<(), headwater::Error>(())
//! ```
//!
//! # Gemini and DeepSeek
//!
//! Neither takes a marker. A prompt that is too short for their caches is said to be so, with the
//! source of the number.
//!
//! ```
//! use headwater::body::{Api, BodyNote, BodyOptions};
//! # use headwater::{BytesTokenizer, Chat, SignOptions, Turn};
//! # let sign = |model: &str| {
//! #     let options = SignOptions { model: model.into(), ..SignOptions::default() };
//! #     Ok::<_, headwater::Error>(Chat::new()
//! #         .system("You answer questions about the harbour.")
//! #         .turn(Turn::user("When is high tide?"))
//! #         .prompt()?
//! #         .sign(&BytesTokenizer, &options)?)
//! # };
//! let body = sign("gemini-2.5-pro")?.body(Api::GeminiContent, &BodyOptions::default())?;
//! assert!(body.as_str().starts_with(r#"{"systemInstruction":{"parts":[{"text":"You answer"#));
//! assert!(matches!(body.notes(), [BodyNote::BelowMinimum { minimum: 4096, .. }]));
//!
//! let body = sign("deepseek-chat")?.body(Api::DeepSeekChat, &BodyOptions::default())?;
//! assert!(body.as_str().ends_with(r#"{"role":"user","content":"When is high tide?"}]}"#));
//! # Ok::<(), headwater::Error>(())
//! ```
//!
//! # DashScope
//!
//! ```
//! use headwater::body::{Api, BodyOptions, Markers};
//! # use headwater::{BytesTokenizer, Chat, SignOptions, Turn};
//! # let options = SignOptions { model: "qwen3-max".into(), ..SignOptions::default() };
//! # let signed = Chat::new()
//! #     .system("You answer questions about the harbour. ".repeat(200))
//! #     .turn(Turn::user("When is high tide?"))
//! #     .prompt()?
//! #     .sign(&BytesTokenizer, &options)?;
//! let body = signed.body(Api::DashScopeChat, &BodyOptions::default())?;
//! assert_eq!(body.as_str().matches(r#""cache_control":{"type":"ephemeral"}"#).count(), 2);
//!
//! // Where the provider is to decide, at its other price.
//! let options = BodyOptions { markers: Markers::Omitted, ..BodyOptions::default() };
//! let body = signed.body(Api::DashScopeChat, &options)?;
//! assert!(body.as_str().contains(r#"{"role":"user","content":"When is high tide?"}"#));
//! # Ok::<(), headwater::Error>(())
//! ```
//!
//! # vLLM and SGLang
//!
//! Prefixes of tenants with different [salts](crate::Salt) are never shared. The engine gets a
//! hash of the salt, from which nobody gets the salt back. Some routers in front of such engines
//! rewrite bodies and drop the field; one that does mixes tenants.
//!
//! ```
//! use headwater::body::{Api, BodyOptions};
//! use headwater::{BytesTokenizer, Chat, Salt, SignOptions, Turn};
//!
//! let salt = Some(Salt::new(*b"sixteen random b"));
//! let options = SignOptions { model: "qwen3-8b".into(), salt, ..SignOptions::default() };
//! let signed = Chat::new()
//!     .turn(Turn::user("When is high tide?"))
//!     .prompt()?
//!     .sign(&BytesTokenizer, &options)?;
//! for api in [Api::VllmChat, Api::SglangChat] {
//!     let body = signed.body(api, &BodyOptions::default())?;
//!     let (_, salt) = body.as_str().split_once(r#""cache_salt":"#).ok_or("no salt")?;
//!     assert_eq!(salt.len(), r#""""#.len() + 64 + "}".len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What to know
//!
//! * Tokens are those of the signature's tokenizer. [`BytesTokenizer`](crate::BytesTokenizer)
//!   estimates, so near a minimum its word is not the last.
//! * Tools are turned into the endpoint's form; descriptions and schemas keep their bytes. Tools
//!   that a provider runs itself are passed on as they are.
//! * Anthropic, Bedrock and Gemini get neighbouring messages of one side as one message, and
//!   system text ahead of all messages. Where examples stood before it, it moves, with a
//!   [note](BodyNote::Hoisted).
//! * A tool call's arguments stay as the model wrote them. Where an endpoint wants them as an
//!   object, they have to be one.

mod api;

mod draft;

mod outline;

mod plan;

mod chat;

mod responses;

mod anthropic;

mod bedrock;

mod gemini;

mod tool;

mod media;

mod ordered;

mod note;

mod error;

use std::fmt;

use crate::{SignedPrompt, provider::Limits};

pub use api::{Api, Keep, Markers};
pub use error::{BodyError, MediaProblem, ToolProblem};
pub use note::{BodyNote, MarkerPlace, Omission};

/// What a body has besides the prompt.
///
/// Not `non_exhaustive`: write `BodyOptions { keep, ..BodyOptions::default() }`.
#[derive(Clone, Debug, Default)]
pub struct BodyOptions {
    /// How long the provider is asked to keep prefixes.
    pub keep: Keep,
    /// Whether markers are written.
    pub markers: Markers,
    /// Further members such as `temperature`, in this order behind the prompt. A value's keys are
    /// sorted.
    pub parameters: Vec<(String, serde_json::Value)>,
    /// For Gemini: the name of a cached-content resource (`cachedContents/…`) that has this prompt's
    /// instructions and tools, all of them and nothing else. The body refers to it instead of
    /// saying them again; that it holds them is the caller's word.
    pub cached_content: Option<String>,
    /// Newer limits than the published ones.
    pub limits: Option<Limits>,
}

/// A request body, and what there is to say about it.
#[derive(Clone, PartialEq, Eq)]
pub struct Body {
    json: String,
    markers: Vec<MarkerPlace>,
    notes: Vec<BodyNote>,
}

impl Body {
    /// The JSON text. Send it as it is: the order of its keys is part of what it is for.
    pub fn as_str(&self) -> &str {
        &self.json
    }

    /// The text, to keep.
    pub fn into_string(self) -> String {
        self.json
    }

    /// What the markers in the body stand for, in the body's order.
    pub fn markers(&self) -> &[MarkerPlace] {
        &self.markers
    }

    /// Minimums, markers that are not there, moved text.
    pub fn notes(&self) -> &[BodyNote] {
        &self.notes
    }
}

impl fmt::Debug for Body {
    /// Shows nothing of the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body")
            .field("bytes", &self.json.len())
            .field("markers", &self.markers)
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

impl SignedPrompt {
    /// The request body for an endpoint: the signed text in the endpoint's form and nothing else
    /// that a model reads.
    ///
    /// # Errors
    /// What has no form there, see [`BodyError`].
    pub fn body(&self, api: Api, options: &BodyOptions) -> Result<Body, BodyError> {
        draft::Draft::new(api, self, options)?.finish()
    }
}
