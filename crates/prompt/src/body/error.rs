//! Why a signed prompt makes no body for an endpoint. Messages never quote prompt text.

use std::fmt;

use super::Api;
use crate::{SegmentLabel, json::JsonError, provider::LimitsError};

/// Why there is no body.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyError {
    /// The prompt is one text without roles.
    NoRoles {
        /// For which endpoint.
        api: Api,
    },
    /// There is no message besides the instructions.
    NoMessages {
        /// For which endpoint.
        api: Api,
    },
    /// The prompt was signed without a model, and the body has to name one.
    NoModel {
        /// For which endpoint.
        api: Api,
    },
    /// The published provider limits cannot be read.
    Limits(LimitsError),
    /// A parameter has the name of something that the prompt decides, or occurs twice.
    Parameter {
        /// For which endpoint.
        api: Api,
        /// The parameter's name.
        name: String,
    },
    /// The endpoint refuses a body without this parameter.
    MissingParameter {
        /// For which endpoint.
        api: Api,
        /// The parameter's name.
        name: &'static str,
    },
    /// A parameter is about tools, and there are none.
    NoTools {
        /// For which endpoint.
        api: Api,
        /// The parameter's name.
        name: &'static str,
    },
    /// The endpoint has no cache that a request refers to by name.
    NoCachedContent {
        /// For which endpoint.
        api: Api,
    },
    /// A parameter is too deep or too large to be written.
    ParameterValue {
        /// For which endpoint.
        api: Api,
        /// The parameter's name.
        name: String,
        /// What is wrong with it.
        error: JsonError,
    },
    /// A tool has a form that cannot be turned into the endpoint's own.
    Tool {
        /// For which endpoint.
        api: Api,
        /// The tool's name, or its place in the list.
        tool: String,
        /// What is wrong with it.
        problem: ToolProblem,
    },
    /// A tool call's arguments are no JSON, and the endpoint takes nothing else.
    Arguments {
        /// For which endpoint.
        api: Api,
        /// Which call.
        segment: SegmentLabel,
        /// The first thing wrong, unless they are JSON and no object.
        error: Option<JsonError>,
    },
    /// A tool's result does not say which call it answers, or there is no such call.
    UnknownCall {
        /// For which endpoint.
        api: Api,
        /// Which result.
        segment: SegmentLabel,
    },
    /// An image or sound has a form that cannot be turned into the endpoint's own.
    Media {
        /// For which endpoint.
        api: Api,
        /// Which part.
        segment: SegmentLabel,
        /// What is wrong with it.
        problem: MediaProblem,
    },
    /// A text of nothing but blanks, which the endpoint refuses.
    Blank {
        /// For which endpoint.
        api: Api,
        /// Which segment.
        segment: SegmentLabel,
    },
    /// System text of this request only stands behind messages, and the endpoint takes system
    /// text ahead of them only, where it would make the history new on every request.
    LateSystem {
        /// For which endpoint.
        api: Api,
        /// Which segment.
        segment: SegmentLabel,
    },
}

/// What is wrong with a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolProblem {
    /// It has a member that the endpoint's form has no place for.
    Member(String),
    /// It has a cache marker of its own.
    Marker(String),
    /// It cannot be read.
    Json(JsonError),
}

/// What is wrong with an image or sound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MediaProblem {
    /// The endpoint takes no media of this kind in a general form.
    Kind,
    /// The endpoint takes data, not addresses.
    Address,
    /// A `data:` URL that is no base64 or does not name its type.
    Data,
    /// A member that the endpoint's form has no place for.
    Member(String),
    /// It has a cache marker of its own.
    Marker(String),
    /// It is too deep or too large to be written.
    Value(JsonError),
}

impl BodyError {
    /// The segment that it is about, for errors that have one.
    pub fn segment(&self) -> Option<&SegmentLabel> {
        match self {
            Self::Arguments { segment, .. }
            | Self::UnknownCall { segment, .. }
            | Self::Media { segment, .. }
            | Self::Blank { segment, .. }
            | Self::LateSystem { segment, .. } => Some(segment),
            _ => None,
        }
    }

    /// The endpoint that the body was for, for errors that have one.
    pub fn api(&self) -> Option<Api> {
        match self {
            Self::Limits(_) => None,
            Self::NoRoles { api }
            | Self::NoMessages { api }
            | Self::NoModel { api }
            | Self::Parameter { api, .. }
            | Self::MissingParameter { api, .. }
            | Self::ParameterValue { api, .. }
            | Self::NoTools { api, .. }
            | Self::NoCachedContent { api }
            | Self::Tool { api, .. }
            | Self::Arguments { api, .. }
            | Self::UnknownCall { api, .. }
            | Self::Media { api, .. }
            | Self::Blank { api, .. }
            | Self::LateSystem { api, .. } => Some(*api),
        }
    }

    fn problem(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoles { .. } => f.write_str(
                "the prompt has no roles; build it with `Chat`, or send its text to an endpoint \
                 that completes text",
            ),
            Self::NoMessages { .. } => {
                f.write_str("there is no message besides the instructions; add a user's turn")
            }
            Self::NoModel { .. } => {
                f.write_str("the prompt was signed without a model; set `SignOptions::model`")
            }
            Self::Limits(error) => write!(f, "{error}"),
            Self::Parameter { name, .. } => write!(
                f,
                "the parameter `{}` is there already; take it out of `BodyOptions::parameters`",
                name.escape_debug()
            ),
            Self::MissingParameter { name, .. } => write!(
                f,
                "the endpoint wants the parameter `{name}`; add it to `BodyOptions::parameters`"
            ),
            Self::NoTools { name, .. } => write!(
                f,
                "the parameter `{name}` is about tools, and the chat has none; take it out of \
                 `BodyOptions::parameters`"
            ),
            Self::NoCachedContent { .. } => f.write_str(
                "the endpoint has no cache with names; leave `BodyOptions::cached_content` empty",
            ),
            Self::ParameterValue { name, error, .. } => write!(
                f,
                "the parameter `{}` cannot be written: {error}",
                name.escape_debug()
            ),
            Self::Tool { tool, problem, .. } => {
                write!(f, "tool `{}`: {problem}", tool.escape_debug())
            }
            Self::Arguments { error, .. } => {
                f.write_str("the call's arguments are no JSON object")?;
                if let Some(error) = error {
                    write!(f, " ({error})")?;
                }
                f.write_str(
                    "; the endpoint takes nothing else, so leave the turn out, or send the \
                     conversation where it began",
                )
            }
            Self::UnknownCall { .. } => f.write_str(
                "the result names no tool call of the history; keep the assistant's turn with \
                 the call, and give its id to `Turn::tool`",
            ),
            Self::Media { problem, .. } => write!(f, "{problem}"),
            Self::Blank { .. } => f.write_str(
                "the text is blank, which the endpoint refuses; give it text or leave it out",
            ),
            Self::LateSystem { .. } => f.write_str(
                "the endpoint takes system text ahead of the messages only, and this text is of \
                 one request; put it into the newest user turn as a fact",
            ),
        }
    }
}

impl fmt::Display for ToolProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(member) => write!(
                f,
                "the endpoint's form has no place for `{}`; take it out, or write the tool in \
                 the endpoint's own form",
                member.escape_debug()
            ),
            Self::Marker(member) => write!(
                f,
                "it has a cache marker `{}` of its own; take it out, markers are placed for you",
                member.escape_debug()
            ),
            Self::Json(error) => write!(f, "it cannot be read: {error}"),
        }
    }
}

impl fmt::Display for MediaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind => f.write_str(
                "the endpoint takes no such medium; leave it out, or give the part in the \
                 endpoint's own form with `Media::new`",
            ),
            Self::Address => f.write_str(
                "the endpoint takes data and no address; give a `data:` URL, or the part in the \
                 endpoint's own form with `Media::new`",
            ),
            Self::Data => {
                f.write_str("the `data:` URL is not `data:TYPE;base64,DATA`; write it so")
            }
            Self::Member(member) => write!(
                f,
                "the endpoint's form has no place for `{}`; take it out, or give the part in the \
                 endpoint's own form",
                member.escape_debug()
            ),
            Self::Marker(member) => write!(
                f,
                "the part has a cache marker `{}` of its own; take it out, markers are placed \
                 for you",
                member.escape_debug()
            ),
            Self::Value(error) => write!(f, "the part cannot be written: {error}"),
        }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(api) = self.api() {
            write!(f, "no body for {api}: ")?;
        }
        if let Some(segment) = self.segment() {
            write!(f, "{segment}: ")?;
        }
        self.problem(f)
    }
}

impl std::error::Error for BodyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Limits(error) => Some(error),
            Self::ParameterValue { error, .. } => Some(error),
            Self::Arguments { error, .. } => error.as_ref().map(|error| error as _),
            _ => None,
        }
    }
}
