//! Turns of a conversation: what a user asks, what the model says, what a tool returns.

use crate::{
    Media, Prompt, PromptError, Role, Segment, SegmentLabel, ToolCall, Volatility,
    prompt::{Body, CleanSegment, Joint},
};

/// One message of a conversation, of one of the three that take turns.
///
/// Closed on purpose: a system message inside a history would move the border that all requests
/// share. What is new goes into the newest [`UserTurn`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A user's.
    User(UserTurn),
    /// The model's.
    Assistant(AssistantTurn),
    /// A tool's.
    Tool(ToolTurn),
}

impl Turn {
    /// What a user says.
    pub fn user(text: impl Into<String>) -> UserTurn {
        let text = text.into();
        UserTurn {
            facts: Vec::new(),
            parts: if text.is_empty() {
                Vec::new()
            } else {
                vec![Part::Text(text)]
            },
        }
    }

    /// What the model said, to be replayed exactly as it came.
    pub fn assistant(text: impl Into<String>) -> AssistantTurn {
        AssistantTurn {
            text: text.into(),
            calls: Vec::new(),
        }
    }

    /// What a tool returned for the call with this id.
    pub fn tool(call_id: impl Into<String>, result: impl Into<String>) -> ToolTurn {
        ToolTurn {
            call_id: call_id.into(),
            result: result.into(),
        }
    }
}

/// What a user says, with the facts of the request that it was said in.
///
/// Facts (the clock, retrieved snippets, a request's id) are of this request only. They stand in
/// the user's turn, before the words, because whatever stands ahead of the history makes an
/// engine compute the history again. Put the steadiest fact first. When the turn has become
/// history its facts stay as they were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserTurn {
    facts: Vec<Fact>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fact {
    name: String,
    value: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Media(Media),
}

impl UserTurn {
    /// The same with a fact of this request. It reads `<name>`, the value, `</name>`, each on a
    /// line. Names are letters, digits, `_` and `-`.
    #[must_use]
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push(Fact {
            name: name.into(),
            value: value.into(),
        });
        self
    }

    /// The same with an image or sound behind what is there.
    #[must_use]
    pub fn media(mut self, media: Media) -> Self {
        self.parts.push(Part::Media(media));
        self
    }

    /// The same with more text behind what is there.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Text(text.into()));
        self
    }
}

/// What the model said, with the tool calls that it made. Never cleaned: the engine's cache has
/// the tokens that the model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssistantTurn {
    text: String,
    calls: Vec<ToolCall>,
}

impl AssistantTurn {
    /// The same with a tool call behind the others.
    #[must_use]
    pub fn call(mut self, call: ToolCall) -> Self {
        self.calls.push(call);
        self
    }
}

/// What a tool returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolTurn {
    call_id: String,
    result: String,
}

impl From<&str> for UserTurn {
    fn from(text: &str) -> Self {
        Turn::user(text)
    }
}

impl From<String> for UserTurn {
    fn from(text: String) -> Self {
        Turn::user(text)
    }
}

impl From<UserTurn> for Turn {
    fn from(turn: UserTurn) -> Self {
        Self::User(turn)
    }
}

impl From<AssistantTurn> for Turn {
    fn from(turn: AssistantTurn) -> Self {
        Self::Assistant(turn)
    }
}

impl From<ToolTurn> for Turn {
    fn from(turn: ToolTurn) -> Self {
        Self::Tool(turn)
    }
}

/// Cleans a turn of an author's examples or of a conversation; `first` is the place in the whole
/// prompt of the first segment in `prompt`.
pub(crate) fn add(
    prompt: &mut Prompt,
    first: usize,
    volatility: Volatility,
    turn: &Turn,
) -> Result<(), PromptError> {
    let role = match turn {
        Turn::User(_) => Role::User,
        Turn::Assistant(_) => Role::Assistant,
        Turn::Tool(_) => Role::Tool,
    };
    let mut writer = Writer {
        prompt,
        first,
        volatility,
        role,
        joint: Joint::Opens,
    };
    match turn {
        Turn::User(turn) => writer.user(turn),
        Turn::Assistant(turn) => writer.assistant(turn),
        Turn::Tool(turn) => writer.tool(turn),
    }
}

struct Writer<'a> {
    prompt: &'a mut Prompt,
    first: usize,
    volatility: Volatility,
    role: Role,
    /// Of the next segment.
    joint: Joint,
}

impl Writer<'_> {
    fn user(&mut self, turn: &UserTurn) -> Result<(), PromptError> {
        for fact in &turn.facts {
            self.fact(fact)?;
        }
        for part in &turn.parts {
            match part {
                Part::Text(text) => self.text(Segment::user(text.as_str()))?,
                Part::Media(media) => self.put(media.text(), Body::Media(media.clone())),
            }
        }
        if turn.facts.is_empty() && turn.parts.is_empty() {
            self.text(Segment::user(""))?;
        }
        Ok(())
    }

    fn assistant(&mut self, turn: &AssistantTurn) -> Result<(), PromptError> {
        if !turn.text.is_empty() || turn.calls.is_empty() {
            let segment = Segment::assistant(turn.text.as_str());
            // An author's example is text like any other; what the model wrote is in its cache.
            self.text(match self.volatility {
                Volatility::Dynamic => segment.verbatim(),
                Volatility::Static | Volatility::SemiStatic => segment,
            })?;
        }
        for call in &turn.calls {
            self.put(call.text(), Body::Call(call.clone()));
        }
        Ok(())
    }

    fn tool(&mut self, turn: &ToolTurn) -> Result<(), PromptError> {
        self.joint = Joint::Answers(turn.call_id.clone());
        self.text(Segment::tool(turn.result.as_str()))
    }

    fn fact(&mut self, fact: &Fact) -> Result<(), PromptError> {
        let Fact { name, value } = fact;
        let segment = Segment::user(value.as_str()).name(name.as_str());
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        if name.is_empty() || !name.chars().all(fits) {
            return Err(PromptError::FactName {
                segment: self.label(&segment),
            });
        }
        self.text(segment)?;
        if let Some(written) = self.prompt.segments.last_mut() {
            let value = written.text.trim_end_matches('\n');
            written.text = format!("<{name}>\n{value}\n</{name}>\n");
        }
        Ok(())
    }

    fn text(&mut self, segment: Segment) -> Result<(), PromptError> {
        let joint = self.next_joint();
        self.prompt.add(self.label(&segment), &segment, joint)
    }

    fn put(&mut self, text: String, body: Body) {
        let label = self.label(&Segment::default().role(self.role));
        let joint = self.next_joint();
        self.prompt.segments.push(CleanSegment {
            label,
            text,
            joint,
            body,
        });
    }

    fn next_joint(&mut self) -> Joint {
        std::mem::replace(&mut self.joint, Joint::Joins)
    }

    fn label(&self, segment: &Segment) -> SegmentLabel {
        let index = self.first + self.prompt.segments.len();
        SegmentLabel::of(index, self.volatility, segment)
    }
}
