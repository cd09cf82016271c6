//! Build a prompt in cache order, sign its prefixes, send the headers.
//!
//! An engine reuses the beginning of a prompt that it has computed before, in whole blocks of
//! tokens. This crate puts a prompt together so that its beginning stays the same, and names the
//! prefixes worth reusing, so that a router can send the request to the worker that holds them
//! without reading the body.
//!
//! ```text
//! segments ─clean─► canonical text ─tokenize─► tokens ─cut─► whole blocks ─chain─► prefix hashes ─choose rungs─► headers
//! ```
//!
//! # A conversation with a chat endpoint
//!
//! Work out what all requests share once ([`Prepared`]), then let each [`Conversation`] grow. It
//! signs what is new, and its headers are those of signing everything from scratch.
//!
//! ```
//! use headwater::{BytesTokenizer, Chat, Prepared, SignOptions, Turn};
//!
//! let chat = Chat::new()
//!     .tool(r#"{"type": "function", "function": {"name": "tides", "parameters": {}}}"#)
//!     .system("You answer questions about the harbour. ".repeat(8))
//!     .semi_static("Tenant: North Quay.\r\n");
//! let head = Prepared::new(chat, BytesTokenizer, SignOptions::default())?;
//!
//! let mut talk = head.conversation().session("visitor 7");
//! let signed = talk.ask(Turn::user("When is high tide?").fact("now", "2026-05-04 09:30"))?;
//!
//! // Send both headers with the messages and tools, which belong together.
//! let [(name, signature), (_, affinity)] = signed.headers();
//! assert_eq!(name, "prefix-signature");
//! assert!(signature.starts_with("v=1, b=16, n="));
//! assert_eq!(affinity.len(), 16);
//! assert!(signed.messages_json().is_some() && signed.tools_json().is_some());
//!
//! // With the answer comes where it was computed; the next turn says so.
//! talk.observe_route("w=:AAECAw==:, matched=0, reason=cold")?;
//! talk.push(Turn::assistant("At 12:04."))?;
//! let next = talk.ask(Turn::user("Thank you.").fact("now", "2026-05-04 09:31"))?;
//! assert!(next.headers()[0].1.ends_with(&format!(", w=:AAECAw==:, wn={}", signed.tokens())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where the clock goes
//!
//! What changes from request to request stands in the newest user turn, as a
//! [fact](UserTurn::fact); there is no place for it ahead of the history. When the turn has
//! become history, its bytes stay as they were sent. [`assert_extends`] proves that in a test,
//! and names the first byte where a prompt of your own making breaks it.
//!
//! # When the window is full
//!
//! [`Conversation::drop_turns`], [`rewrite`](Conversation::rewrite) and
//! [`compact`](Conversation::compact) change history. They are the only ones that do, and they
//! return a [`Cost`]: tokens and names from there on that nobody can reuse.
//!
//! # What it is worth
//!
//! [`SignedPrompt::report`] has tokens by segment, borders, what each rung stands for, tokens that
//! other requests can reuse, what cleaning changed, and ends of text that lose tokens. Print it.
//!
//! # One text for a completion endpoint
//!
//! ```
//! use headwater::{BytesTokenizer, Prompt, SignOptions};
//!
//! let prompt = Prompt::builder()
//!     .static_("Translate into Dutch.\n")
//!     .semi_static("Glossary: quay = kade.\n")
//!     .dynamic("The ferry leaves from the quay.")
//!     .build()?;
//! let signed = prompt.sign(&BytesTokenizer, &SignOptions::default())?;
//! assert!(signed.text().ends_with("from the quay."));
//! # Ok::<(), headwater::Error>(())
//! ```
//!
//! # The model's own tokens
//!
//! [`BytesTokenizer`] needs no file. Its names are as good as any; its counts are estimates. With
//! the model's `tokenizer.json` counts are exact, and rungs end where the engine's blocks do:
//!
//! ```no_run
//! use headwater::{Chat, HfTokenizer, Prepared, SignOptions, SpecialTokens};
//!
//! let tokenizer = HfTokenizer::from_file("tokenizer.json".as_ref(), SpecialTokens::Omitted)?;
//! let options = SignOptions { model: "qwen3-8b".into(), ..SignOptions::default() };
//! let head = Prepared::new(Chat::new().system("Be brief."), tokenizer, options)?;
//! # Ok::<(), headwater::Error>(())
//! ```
//!
//! # Where to look
//!
//! * [`Chat`], [`Turn`], [`Media`], [`ToolCall`]: what goes into a chat.
//! * [`Prompt::builder`] and [`PromptDraft`] with [`Segment`]: prompts of other shapes, and
//!   volatility that is known at run time only.
//! * [`SignOptions`]: block size, model, tenant's secret, session, affinity, [`Align`].
//! * [`Tokenize`]: a tokenizer of your own.
//! * [`json`]: one text for one value. [`vllm`]: that engine's own block hashes. [`provider`]: what
//!   hosted providers cache. [`body`]: the request body for each of them, markers included.
//! * [`Error`]: one type for all of it, with segment and position.
//!
//! # What is named, and how far it can be trusted
//! * Prompts with roles are rendered as ChatML to be named. The engine may render otherwise. Then
//!   token counts differ a little, and equal beginnings are still equal beginnings.
//! * Tools are the exception, since some templates (Qwen3's) write them behind the instructions.
//!   Two chats with the same tools and other instructions begin equal here, and not there. So a
//!   chat with tools has no rung before the end of its static instructions. What is left: tenants
//!   whose [semi-static](Chat::semi_static) instructions differ share the static ones there and not
//!   the tools. [`Prompt::from_template`] with the model's own template names what the engine has.
//! * A rung ends at a whole block, before a border whose tokens survive what follows, and never
//!   covers the prompt's last token, which an engine always computes again.
//! * Rungs are the ends of the static part, the semi-static part and the newest four turns, and
//!   then steps of a ladder that is the same for every prompt.
//! * A name proves nothing. Whoever sends a wrong one gets a cold cache.
//!
//! # What this crate never does
//! It sends nothing, reads no clock and no environment, opens no file but the tokenizer it is
//! given, and never quotes prompt text in an error.

mod segment;

mod builder;

mod prompt;

mod message;

mod turn;

mod chat;

mod render;

mod align;

mod tokenize;

mod seam;

mod borders;

mod affinity;

mod sign;

mod signed;

mod report;

mod prepared;

mod conversation;

mod history;

mod extend;

pub mod json;

pub mod vllm;

pub mod provider;

pub mod body;

mod error;

mod template;

#[cfg(doctest)]
mod readme {
    #![doc = include_str!("../README.md")]
}

#[cfg(test)]
#[path = "../tests/support/kinds.rs"]
#[expect(dead_code, reason = "not all that the tests from outside need")]
mod kinds;
#[cfg(test)]
#[path = "../tests/support/tiny.rs"]
mod tiny;

pub use affinity::AffinityMode;
pub use align::{Align, Padding};
pub use builder::{Dynamic, PromptBuilder, SemiStatic, Static};
pub use chat::Chat;
pub use conversation::Conversation;
pub use error::{Error, PromptError, SignError, TokenizeError, TokenizeErrorKind};
pub use extend::{Divergence, assert_extends};
pub use headwater_signature as signature;
pub use headwater_template as templates;
pub use headwater_text as text;
pub use history::Cost;
pub use message::{Attachment, Media, MediaDigest, MediaKind, Message, ToolCall};
pub use prepared::Prepared;
pub use prompt::{Change, Prompt, PromptDraft, Warning, WarningKind};
pub use report::{
    Border, BorderReport, Report, Reuse, Risk, RiskKind, RungReport, SegmentReport, TurnReport,
};
pub use seam::{SeamRisk, TextEnd, risk as seam_risk};
pub use segment::{Cleaning, Role, Segment, SegmentLabel, UnknownName, Volatility};
pub use sign::{Salt, SignOptions};
pub use signed::SignedPrompt;
pub use tokenize::{
    BytesTokenizer, ControlText, Ends, HfTokenizer, Seam, SpecialTokens, Tokenize, Tokens,
};
pub use turn::{AssistantTurn, ToolTurn, Turn, UserTurn};
