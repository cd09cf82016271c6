//! Segments become one text: plain concatenation, or chat messages between markers.
//!
//! NOTE: the text *names* prefixes. An engine may render the same messages with a template of its
//! own; then its token counts differ from ours, but two prompts with a common beginning here have
//! a common beginning there, and that is all a name has to say.

use std::ops::Range;

use crate::{Role, Volatility, prompt::CleanSegment};

pub(crate) const MESSAGE_START: &str = "<|im_start|>";
pub(crate) const MESSAGE_END: &str = "<|im_end|>";

/// How segments become text. The name is part of the fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renderer {
    /// No roles: one segment after the other.
    Plain,
    /// Roles: the message form that ChatML made common, ending where the model is to speak.
    ChatMl,
}

impl Renderer {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain/1",
            Self::ChatMl => "chatml/1",
        }
    }
}

/// A chat message: the texts of consecutive segments of one role.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The canonical text.
    pub content: String,
}

/// A prompt's text with the places that matter in it, all in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    pub(crate) renderer: Renderer,
    pub(crate) text: String,
    /// The markers that the renderer wrote, in order.
    pub(crate) markers: Vec<Range<usize>>,
    /// Where the last static segment ends.
    pub(crate) static_end: Option<usize>,
    /// Where the last semi-static segment ends.
    pub(crate) semi_static_end: Option<usize>,
    /// Where each turn ends: each message, or each segment of a plain prompt.
    pub(crate) turns: Vec<Turn>,
    /// The messages, unless the prompt is plain.
    pub(crate) messages: Option<Vec<Message>>,
}

/// Where a message, or a segment of a plain prompt, ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) end: usize,
    pub(crate) role: Option<Role>,
    pub(crate) volatility: Volatility,
}

pub(crate) fn render(segments: &[CleanSegment]) -> Rendered {
    let chat = segments
        .first()
        .is_some_and(|segment| segment.role().is_some());
    let renderer = if chat {
        Renderer::ChatMl
    } else {
        Renderer::Plain
    };
    let mut page = Page(Rendered {
        renderer,
        text: String::new(),
        markers: Vec::new(),
        static_end: None,
        semi_static_end: None,
        turns: Vec::new(),
        messages: chat.then(Vec::new),
    });
    let mut open: Option<Role> = None;
    for (index, segment) in segments.iter().enumerate() {
        if let Some(role) = segment.role()
            && open != Some(role)
        {
            page.open_message(role);
            open = Some(role);
        }
        page.write(segment);
        let next = segments.get(index + 1);
        if segment.role().is_none() || next.map(CleanSegment::role) != Some(open) {
            page.end_turn(segment);
        }
    }
    if chat {
        page.marker(MESSAGE_START);
        page.0.text.push_str(Role::Assistant.as_str());
        page.0.text.push('\n');
    }
    page.0
}

/// The text while it is being written.
struct Page(Rendered);

impl Page {
    fn open_message(&mut self, role: Role) {
        self.marker(MESSAGE_START);
        self.0.text.push_str(role.as_str());
        self.0.text.push('\n');
        if let Some(messages) = &mut self.0.messages {
            messages.push(Message {
                role,
                content: String::new(),
            });
        }
    }

    fn write(&mut self, segment: &CleanSegment) {
        self.0.text.push_str(&segment.text);
        if let Some(message) = self
            .0
            .messages
            .as_mut()
            .and_then(|messages| messages.last_mut())
        {
            message.content.push_str(&segment.text);
        }
        let end = Some(self.0.text.len());
        match segment.label.volatility {
            Volatility::Static => self.0.static_end = end,
            Volatility::SemiStatic => self.0.semi_static_end = end,
            Volatility::Dynamic => {}
        }
    }

    fn end_turn(&mut self, segment: &CleanSegment) {
        if segment.role().is_some() {
            self.marker(MESSAGE_END);
            self.0.text.push('\n');
        }
        self.0.turns.push(Turn {
            end: self.0.text.len(),
            role: segment.role(),
            volatility: segment.label.volatility,
        });
    }

    fn marker(&mut self, marker: &str) {
        let start = self.0.text.len();
        self.0.text.push_str(marker);
        self.0.markers.push(start..self.0.text.len());
    }
}
