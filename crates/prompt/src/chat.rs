//! A chat prompt: tools, instructions, what a session adds, then turns. The order is the shape.

use crate::{
    Prompt, PromptError, Role, Segment, SegmentLabel, Turn, Volatility,
    json::{self, Style, ToolOrder},
    prompt::{Body, CleanSegment, Joint},
    turn,
};

/// A chat prompt in the order that engines can cache, whatever the order of the calls:
/// tools, instructions and examples (the same for all requests), what a session or tenant adds,
/// then the turns, oldest first.
///
/// There is no place ahead of the turns for what changes from request to request; that goes into
/// the newest turn as a [fact](crate::UserTurn::fact).
///
/// ```
/// use headwater::{BytesTokenizer, Chat, SignOptions, Turn};
///
/// let chat = Chat::new()
///     .system("You answer questions about the harbour.")
///     .semi_static("Tenant: North Quay.")
///     .turn(Turn::user("When is high tide?").fact("now", "2026-05-04 09:30"));
/// let signed = chat.prompt()?.sign(&BytesTokenizer, &SignOptions::default())?;
/// assert_eq!(
///     signed.messages().map(|messages| messages[1].content.to_string()),
///     Some("<now>\n2026-05-04 09:30\n</now>\nWhen is high tide?".to_owned()),
/// );
/// # Ok::<(), headwater::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a chat does nothing until it is signed"]
pub struct Chat {
    tools: Vec<String>,
    tool_order: ToolOrder,
    system: Vec<Segment>,
    examples: Vec<Turn>,
    semi_static: Vec<Segment>,
    turns: Vec<Turn>,
}

impl Chat {
    /// A chat without anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// A tool that the model may call, as JSON text. Sent and signed in canonical form, sorted by
    /// name. [`json::from_value`](crate::json::from_value) makes the text of a value.
    pub fn tool(mut self, json: impl Into<String>) -> Self {
        self.tools.push(json.into());
        self
    }

    /// In which order the tools are written.
    pub fn tool_order(mut self, order: ToolOrder) -> Self {
        self.tool_order = order;
        self
    }

    /// Instructions that are the same for all requests. Several become one message.
    pub fn system(mut self, segment: impl Into<Segment>) -> Self {
        self.system.push(segment.into().role(Role::System));
        self
    }

    /// A worked example, the same for all requests: what a user might say, and a good answer.
    pub fn example(mut self, user: impl Into<String>, assistant: impl Into<String>) -> Self {
        self.examples.push(Turn::user(user).into());
        self.examples.push(Turn::assistant(assistant).into());
        self
    }

    /// Instructions of one tenant, user or session. Without examples they are in one message
    /// with the others.
    pub fn semi_static(mut self, segment: impl Into<Segment>) -> Self {
        self.semi_static.push(segment.into().role(Role::System));
        self
    }

    /// A turn behind the others. The last one is the newest.
    pub fn turn(mut self, turn: impl Into<Turn>) -> Self {
        self.turns.push(turn.into());
        self
    }

    /// Cleans the parts and puts them in order.
    ///
    /// # Errors
    /// There is nothing in the chat; a tool is no JSON or has no name of its own; a fact's name is
    /// no name; else as [`PromptDraft::build`](crate::PromptDraft::build).
    pub fn prompt(&self) -> Result<Prompt, PromptError> {
        let mut prompt = self.head()?;
        for turn in &self.turns {
            turn::add(&mut prompt, 0, Volatility::Dynamic, turn)?;
        }
        if prompt.segments.is_empty() {
            return Err(PromptError::NoSegments);
        }
        Ok(prompt)
    }

    /// The turns, oldest first.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// What stands before the turns.
    pub(crate) fn head(&self) -> Result<Prompt, PromptError> {
        let mut prompt = Prompt::default();
        if !self.tools.is_empty() {
            prompt.segments.push(self.tools_segment()?);
        }
        let add = |prompt: &mut Prompt, volatility, segment: &Segment| {
            let label = SegmentLabel::of(prompt.segments.len(), volatility, segment);
            prompt.add(label, segment, Joint::ByRole)
        };
        for segment in &self.system {
            add(&mut prompt, Volatility::Static, segment)?;
        }
        for example in &self.examples {
            turn::add(&mut prompt, 0, Volatility::Static, example)?;
        }
        for segment in &self.semi_static {
            add(&mut prompt, Volatility::SemiStatic, segment)?;
        }
        Ok(prompt)
    }

    fn tools_segment(&self) -> Result<CleanSegment, PromptError> {
        let segment = Segment::default().name("tools");
        let label = SegmentLabel::of(0, Volatility::Static, &segment);
        match json::tool_list(&self.tools, self.tool_order, Style::Spaced) {
            Ok(text) => Ok(CleanSegment {
                label,
                text,
                joint: Joint::Opens,
                body: Body::Tools,
            }),
            Err(error) => Err(PromptError::Json {
                segment: label,
                error,
            }),
        }
    }
}
