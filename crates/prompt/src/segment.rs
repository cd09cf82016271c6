//! One piece of a prompt as it is handed in: text, how often it changes, and who speaks.

use std::fmt;
use std::str::FromStr;

/// How often a segment's text changes. The order of the variants is the order in a prompt.
///
/// Closed on purpose: engines cache prefixes, so there is a front, a middle and an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Volatility {
    /// The same for all requests of a template.
    Static,
    /// The same for one tenant, user or session.
    SemiStatic,
    /// Of this request: history, retrieved text, the clock, the question.
    Dynamic,
}

impl Volatility {
    /// `static`, `semi_static` or `dynamic`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::SemiStatic => "semi_static",
            Self::Dynamic => "dynamic",
        }
    }
}

impl fmt::Display for Volatility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Volatility {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        const ALL: [Volatility; 3] = [
            Volatility::Static,
            Volatility::SemiStatic,
            Volatility::Dynamic,
        ];
        let found = ALL
            .into_iter()
            .find(|volatility| volatility.as_str() == name);
        found.ok_or_else(|| UnknownName::new(name, "`static`, `semi_static` or `dynamic`"))
    }
}

/// Who speaks in a chat message.
///
/// Closed on purpose: these four are what every chat template knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The instructions.
    System,
    /// The person or program that asks.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// `system`, `user`, `assistant` or `tool`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        const ALL: [Role; 4] = [Role::System, Role::User, Role::Assistant, Role::Tool];
        let found = ALL.into_iter().find(|role| role.as_str() == name);
        found.ok_or_else(|| UnknownName::new(name, "`system`, `user`, `assistant` or `tool`"))
    }
}

/// A word that is none of a closed set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownName {
    /// The word, cut to its first 40 characters.
    pub name: String,
    /// The words that would have been right.
    pub expected: &'static str,
}

impl UnknownName {
    fn new(name: &str, expected: &'static str) -> Self {
        Self {
            name: name.chars().take(40).collect(),
            expected,
        }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown name `{}`, expected {}",
            self.name.escape_debug(),
            self.expected
        )
    }
}

impl std::error::Error for UnknownName {}

/// Whether a segment's text may be cleaned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cleaning {
    /// Strictly for static and semi-static text, line ends and dangerous characters for dynamic.
    #[default]
    ByVolatility,
    /// Not at all: every byte is meant.
    Verbatim,
}

/// A piece of a prompt: text, and optionally a role and a name for messages to people.
///
/// Plain text converts into a segment without a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The text as the caller has it.
    pub text: String,
    /// Who speaks. Either all segments of a prompt have a role or none has.
    pub role: Option<Role>,
    /// What error messages and reports call it. Not part of what is signed.
    pub name: Option<String>,
    /// Whether the text may be cleaned.
    pub cleaning: Cleaning,
}

impl Segment {
    /// A segment without a role.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Instructions.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(text).role(Role::System)
    }

    /// A user's turn, or part of it.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(text).role(Role::User)
    }

    /// What the model said.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(text).role(Role::Assistant)
    }

    /// What a tool returned.
    pub fn tool(text: impl Into<String>) -> Self {
        Self::new(text).role(Role::Tool)
    }

    /// The same with a role.
    #[must_use]
    pub fn role(self, role: Role) -> Self {
        Self {
            role: Some(role),
            ..self
        }
    }

    /// The same with a name.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            ..self
        }
    }

    /// The same, never cleaned.
    #[must_use]
    pub fn verbatim(self) -> Self {
        Self {
            cleaning: Cleaning::Verbatim,
            ..self
        }
    }
}

impl From<&str> for Segment {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Segment {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// Which segment a message is about: its place, and what the caller calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentLabel {
    /// Place in the prompt, from 0.
    pub index: usize,
    /// How often it changes.
    pub volatility: Volatility,
    /// Who speaks.
    pub role: Option<Role>,
    /// Its name.
    pub name: Option<String>,
}

impl SegmentLabel {
    pub(crate) fn of(index: usize, volatility: Volatility, segment: &Segment) -> Self {
        Self {
            index,
            volatility,
            role: segment.role,
            name: segment.name.clone(),
        }
    }
}

impl fmt::Display for SegmentLabel {
    /// ``segment 3 `question` (user, dynamic)``
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "segment {}", self.index)?;
        if let Some(name) = &self.name {
            write!(f, " `{}`", name.escape_debug())?;
        }
        match self.role {
            Some(role) => write!(f, " ({role}, {})", self.volatility),
            None => write!(f, " ({})", self.volatility),
        }
    }
}
