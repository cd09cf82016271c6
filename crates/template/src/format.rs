//! What kind of file prompts were found in.

/// The form of a file that holds prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A Jinja template.
    Jinja,
    /// A model's chat template, in a file of its own.
    ChatTemplate,
    /// A tokenizer's configuration with chat templates in it.
    TokenizerConfig,
    /// A Handlebars template.
    Handlebars,
    /// A Mustache template.
    Mustache,
    /// A Go `text/template`.
    GoTemplate,
    /// Front matter, lines that name roles, and Jinja or Mustache.
    Prompty,
    /// Front matter and Handlebars with roles.
    Dotprompt,
    /// A configuration of promptfoo, or a chat in the form that it reads.
    Promptfoo,
    /// A prompt that LangChain saved.
    LangChain,
    /// A prompt of Semantic Kernel, as YAML or as `skprompt.txt`.
    SemanticKernel,
    /// The body of a request to OpenAI.
    OpenAiRequest,
    /// The body of a request to Anthropic.
    AnthropicRequest,
    /// The body of a request to Bedrock's Converse.
    BedrockRequest,
    /// Text with `{names}` in it, for Python's `str.format`.
    StrFormat,
    /// Markdown or text without variables.
    Plain,
    /// A template in a language that could not be told.
    Unknown,
    /// A template in a language that is not parsed; its name.
    Unsupported(&'static str),
    /// Nothing says that there is a prompt in it.
    NotATemplate,
}

impl Format {
    /// A name for people and machines: `jinja`, `chat-template`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jinja => "jinja",
            Self::ChatTemplate => "chat-template",
            Self::TokenizerConfig => "tokenizer-config",
            Self::Handlebars => "handlebars",
            Self::Mustache => "mustache",
            Self::GoTemplate => "go-template",
            Self::Prompty => "prompty",
            Self::Dotprompt => "dotprompt",
            Self::Promptfoo => "promptfoo",
            Self::LangChain => "langchain",
            Self::SemanticKernel => "semantic-kernel",
            Self::OpenAiRequest => "openai-request",
            Self::AnthropicRequest => "anthropic-request",
            Self::BedrockRequest => "bedrock-request",
            Self::StrFormat => "str-format",
            Self::Plain => "plain",
            Self::Unknown => "unknown",
            Self::Unsupported(_) => "unsupported",
            Self::NotATemplate => "not-a-template",
        }
    }
}
