//! Build a prompt in cache order, sign its prefixes, send the headers.

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

pub use affinity::AffinityMode;
pub use builder::{Dynamic, PromptBuilder, SemiStatic, Static};
pub use error::{PromptError, SignError, TokenizeError, TokenizeErrorKind};
pub use headwater_signature as signature;
pub use headwater_text as text;
pub use prompt::{Change, Prompt, PromptDraft, Warning, WarningKind};
pub use render::Message;
pub use segment::{Cleaning, Role, Segment, SegmentLabel, UnknownName, Volatility};
pub use sign::{Salt, SignOptions, SignedPrompt};
pub use tokenize::{BytesTokenizer, HfTokenizer, Seam, SpecialTokens, Tokenize, Tokens};
