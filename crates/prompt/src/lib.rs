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
//! ```
//! use headwater::{BytesTokenizer, Prompt, Segment, SignOptions};
//!
//! let prompt = Prompt::builder()
//!     .static_(Segment::system("You answer questions about the harbour. ".repeat(8)))
//!     .semi_static(Segment::system("Tenant: North Quay.\r\n").name("tenant"))
//!     .dynamic(Segment::user("When is high tide?"))
//!     .build()?;
//! let signed = prompt.sign(&BytesTokenizer, &SignOptions::default())?;
//!
//! // Send both headers with the messages; the text, the messages and the names belong together.
//! let [(name, signature), (_, affinity)] = signed.headers();
//! assert_eq!(name, "prefix-signature");
//! assert!(signature.starts_with("v=1, b=16, n="));
//! assert_eq!(affinity.len(), 16);
//! assert_eq!(signed.messages().map(<[_]>::len), Some(2));
//!
//! // The names: a rung is a whole number of blocks from the start, with its hash.
//! let rungs: Vec<u32> = signed.signature().rungs().iter().map(|rung| rung.blocks).collect();
//! assert_eq!(rungs, [1, 2, 3, 4, 5, 6]);
//!
//! // Cleaning says what it did: the blank at the end of a line and the CRLF are gone.
//! assert!(signed.changes().iter().any(|change| change.segment == 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Where to look:
//! * [`Segment`], [`Prompt::builder`] and [`PromptDraft`]: what goes in, in which order.
//! * [`Prompt::sign`] with [`SignOptions`]: what comes out, a [`SignedPrompt`].
//! * [`Tokenize`] with [`BytesTokenizer`] (no vocabulary, the default) and [`HfTokenizer`]
//!   (`tokenizer.json`).
//!
//! # What is named, and how far it can be trusted
//! * Prompts with roles are rendered as ChatML to be named. The engine may render otherwise. Then
//!   token counts differ a little, and equal beginnings are still equal beginnings.
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

mod render;

mod tokenize;

mod seam;

mod rungs;

mod affinity;

mod sign;

mod error;

#[cfg(test)]
#[path = "../tests/support/kinds.rs"]
#[expect(dead_code, reason = "not all that the tests from outside need")]
mod kinds;
#[cfg(test)]
#[path = "../tests/support/tiny.rs"]
mod tiny;

pub use affinity::AffinityMode;
pub use builder::{Dynamic, PromptBuilder, SemiStatic, Static};
pub use error::{PromptError, SignError, TokenizeError, TokenizeErrorKind};
pub use headwater_signature as signature;
pub use headwater_text as text;
pub use prompt::{Change, Prompt, PromptDraft, Warning, WarningKind};
pub use render::Message;
pub use seam::{SeamRisk, TextEnd, risk as seam_risk};
pub use segment::{Cleaning, Role, Segment, SegmentLabel, UnknownName, Volatility};
pub use sign::{Salt, SignOptions, SignedPrompt};
pub use tokenize::{
    BytesTokenizer, ControlText, HfTokenizer, Seam, SpecialTokens, Tokenize, Tokens,
};
