//! The messages that a prompt is put together from, and the cache markers in it.

use headwater_text::Span;

use crate::role::Role;

/// Which interface a request is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApiKind {
    /// Chat completions and responses of OpenAI, and what speaks like them.
    OpenAi,
    /// Messages of Anthropic.
    Anthropic,
    /// Converse of Amazon Bedrock.
    Bedrock,
}

impl ApiKind {
    /// `openai`, `anthropic` or `bedrock`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Bedrock => "bedrock",
        }
    }
}

/// What a part of a prompt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartKind {
    /// Text that the model reads.
    Text,
    /// One example of several; its values stand in the file, so that all of it is static.
    Example,
    /// The definition of a tool, as it is written in the file.
    Tool,
    /// A call of a tool, or its result, as it is written in the file.
    ToolUse,
    /// Content that is no text: an image, a file.
    Media,
    /// The messages of a conversation; the text is the name that stands for them.
    History,
}

/// A stretch of a prompt that stands in one string of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// Where, in the template's text.
    pub span: Span,
    /// Who speaks.
    pub role: Role,
    /// What it is.
    pub kind: PartKind,
    /// Index of the message that it belongs to, from 0; none outside of messages.
    pub message: Option<usize>,
}

/// A mark behind which a provider ends a part that it caches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Marker {
    /// The point in the template's text up to which it caches.
    pub at: usize,
    /// The mark itself, in bytes of the FILE.
    pub in_file: Span,
    /// How long it is to be kept, as written: `5m`, `1h`.
    pub ttl: Option<String>,
    /// The part that it closes, an index into [`Template::parts`](crate::Template::parts); none where
    /// it stands at the top of the request.
    pub part: Option<usize>,
    /// In which kind of place it stands.
    pub place: MarkerPlace,
}

/// Places of markers in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarkerPlace {
    /// On a block, or behind it.
    Block,
    /// At the start of its list, with nothing there that it could close.
    ListStart,
    /// In the result of a tool, among the blocks of that result.
    ToolResult,
    /// At the top of the request.
    Request,
}
