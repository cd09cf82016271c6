//! Which endpoint a body is for, and the two choices that a caller has about markers.

use std::fmt;

use crate::provider::Provider;

/// The form of a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Api {
    /// OpenAI's chat completions.
    OpenAiChat,
    /// OpenAI's responses.
    OpenAiResponses,
    /// Chat completions of OpenAI's models on Azure.
    AzureChat,
    /// Anthropic's messages, on its own endpoint.
    AnthropicMessages,
    /// Anthropic's messages on Google's Vertex AI (`rawPredict`). The model is in the URL.
    AnthropicVertex,
    /// Amazon Bedrock's Converse over HTTP. The model is in the URL.
    BedrockConverse,
    /// Gemini's `generateContent`. The model is in the URL.
    GeminiContent,
    /// DeepSeek's chat completions.
    DeepSeekChat,
    /// Chat completions of Alibaba Cloud Model Studio, which serves Qwen.
    DashScopeChat,
    /// Chat completions of a vLLM server.
    VllmChat,
    /// Chat completions of an SGLang server.
    SglangChat,
}

impl Api {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::AzureChat,
        Self::AnthropicMessages,
        Self::AnthropicVertex,
        Self::BedrockConverse,
        Self::GeminiContent,
        Self::DeepSeekChat,
        Self::DashScopeChat,
        Self::VllmChat,
        Self::SglangChat,
    ];

    /// A name for messages: `openai-chat`, `anthropic-messages` and so on.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::AzureChat => "azure-chat",
            Self::AnthropicMessages => "anthropic-messages",
            Self::AnthropicVertex => "anthropic-vertex",
            Self::BedrockConverse => "bedrock-converse",
            Self::GeminiContent => "gemini-content",
            Self::DeepSeekChat => "deepseek-chat",
            Self::DashScopeChat => "dashscope-chat",
            Self::VllmChat => "vllm-chat",
            Self::SglangChat => "sglang-chat",
        }
    }

    /// Whose cache rules hold. `None` for an engine that you run, which caches by its own block
    /// and has no limits to look up.
    pub const fn provider(self) -> Option<Provider> {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => Some(Provider::OpenAi),
            Self::AzureChat => Some(Provider::Azure),
            Self::AnthropicMessages | Self::AnthropicVertex => Some(Provider::Anthropic),
            Self::BedrockConverse => Some(Provider::Bedrock),
            Self::GeminiContent => Some(Provider::Gemini),
            Self::DeepSeekChat => Some(Provider::DeepSeek),
            Self::DashScopeChat => Some(Provider::DashScope),
            Self::VllmChat | Self::SglangChat => None,
        }
    }

    /// Where system text stands.
    pub(super) const fn system(self) -> System {
        match self {
            Self::AnthropicMessages
            | Self::AnthropicVertex
            | Self::BedrockConverse
            | Self::GeminiContent => System::Ahead,
            _ => System::InPlace,
        }
    }

    /// Whether a body without a model cannot be sent.
    pub(super) const fn names_model(self) -> bool {
        !matches!(
            self,
            Self::AnthropicVertex
                | Self::BedrockConverse
                | Self::GeminiContent
                | Self::VllmChat
                | Self::SglangChat
        )
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a form of body has room for system text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    /// Among the messages.
    InPlace,
    /// In a list of its own, ahead of all messages.
    Ahead,
}

/// Who decides where a cached prefix ends, for providers that leave the choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Markers {
    /// Markers are written where the prompt's parts end.
    #[default]
    Placed,
    /// None is written. Qwen and OpenAI then cache as they see fit, at other prices; Anthropic
    /// and Bedrock cache nothing.
    Omitted,
}

/// How long the provider is asked to keep prefixes, out of the lifetimes that it offers. Longer
/// ones cost more to write. In one body a lifetime never rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// The provider's shortest.
    #[default]
    Short,
    /// The longest for static and semi-static parts, the shortest for the turns.
    LongStable,
    /// The longest for everything.
    Long,
}
