//! Segments become one text: plain concatenation, or chat messages between markers.
//!
//! NOTE: the text *names* prefixes. An engine may render the same messages with a template of its
//! own; then its token counts differ from ours, but two prompts with a common beginning here have
//! a common beginning there, and that is all a name has to say. Tools are the exception: a template
//! that writes them behind the instructions shares nothing between two chats that have the tools
//! in common and not the instructions (`tests/engine/vllm` has the pair). So no prefix that ends
//! ahead of the instructions' end gets a name ([`Rendered::nameless`]).

use std::ops::Range;

use crate::{
    Role, SegmentLabel, Volatility,
    prompt::{Body, CleanSegment, Joint},
};

pub(crate) const MESSAGE_START: &str = "<|im_start|>";
pub(crate) const MESSAGE_END: &str = "<|im_end|>";
/// Stands before the digest of an image or of sound.
pub(crate) const MEDIA: &str = "<|headwater:media|>";
/// Stands before a tool call.
pub(crate) const CALL: &str = "<|headwater:call|>";
/// What text of a message must not contain without a warning.
pub(crate) const MARKERS: [&str; 4] = [MESSAGE_START, MESSAGE_END, MEDIA, CALL];

/// What a role line says of the tools that a model may call.
const TOOLS: &str = "tools";

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

    pub(crate) fn of(segments: &[CleanSegment]) -> Self {
        let first = segments.first();
        let chat = first
            .is_some_and(|segment| segment.role().is_some() || matches!(segment.body, Body::Tools));
        if chat { Self::ChatMl } else { Self::Plain }
    }
}

/// A prompt's text with the places that matter in it, all in bytes. It grows at its end.
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
    /// Where each segment stands.
    pub(crate) pieces: Vec<Piece>,
    /// The message being written.
    open: Option<Turn>,
}

/// Where a message, or a segment of a plain prompt, ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) end: usize,
    pub(crate) role: Option<Role>,
    pub(crate) volatility: Volatility,
}

/// Where a segment stands in the text.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) label: SegmentLabel,
    pub(crate) range: Range<usize>,
    pub(crate) joint: Joint,
    pub(crate) body: Body,
}

/// The whole prompt, up to where the model is to speak.
#[cfg(test)]
pub(crate) fn render(segments: &[CleanSegment]) -> Rendered {
    let mut rendered = Rendered::new(Renderer::of(segments));
    for segment in segments {
        rendered.add(segment);
    }
    rendered.invite();
    rendered
}

impl Rendered {
    pub(crate) fn new(renderer: Renderer) -> Self {
        Self {
            renderer,
            text: String::new(),
            markers: Vec::new(),
            static_end: None,
            semi_static_end: None,
            turns: Vec::new(),
            pieces: Vec::new(),
            open: None,
        }
    }

    /// Makes room for segments, so that a long prompt is not moved again and again while it grows.
    pub(crate) fn reserve(&mut self, segments: &[CleanSegment]) {
        let around = 2 * (MESSAGE_START.len() + MESSAGE_END.len());
        let bytes = segments.iter().map(|segment| segment.text.len() + around);
        self.text.reserve(bytes.sum());
    }

    /// Writes a segment behind the others. One that begins a message ends the one before.
    pub(crate) fn add(&mut self, segment: &CleanSegment) {
        let joint = self.joint(segment);
        if !matches!(joint, Joint::Joins) {
            self.close();
            self.open(segment, &joint);
        }
        let start = self.text.len();
        self.text.push_str(&segment.text);
        self.pieces.push(Piece {
            label: segment.label.clone(),
            range: start..self.text.len(),
            joint,
            body: segment.body.clone(),
        });
        self.mark_end(segment.label.volatility);
    }

    /// Adds to the last segment what is no part of the caller's text, while its message is open.
    pub(crate) fn pad(&mut self, padding: &str) {
        let Some(piece) = self.pieces.last_mut() else {
            return;
        };
        self.text.push_str(padding);
        piece.range.end = self.text.len();
        let volatility = piece.label.volatility;
        self.mark_end(volatility);
    }

    /// Ends the message being written.
    pub(crate) fn close(&mut self) {
        let Some(turn) = self.open.take() else {
            return;
        };
        if self.renderer == Renderer::ChatMl {
            self.marker(MESSAGE_END);
            self.text.push('\n');
        }
        self.turns.push(Turn {
            end: self.text.len(),
            ..turn
        });
    }

    /// Ends the messages and, in a chat, begins the model's: the form that is signed.
    pub(crate) fn invite(&mut self) {
        self.close();
        if self.renderer == Renderer::ChatMl && self.end() == self.text.len() {
            self.marker(MESSAGE_START);
            self.text.push_str(Role::Assistant.as_str());
            self.text.push('\n');
        }
    }

    /// Takes the invitation back, so that more can be written.
    pub(crate) fn reopen(&mut self) {
        if self.open.is_none() {
            self.cut_text(self.end());
        }
    }

    /// Where the last ended message ends, in bytes.
    pub(crate) fn end(&self) -> usize {
        self.turns.last().map_or(0, |turn| turn.end)
    }

    /// The tools in canonical JSON.
    pub(crate) fn tools(&self) -> Option<&str> {
        self.text.get(self.tools_piece()?.range.clone())
    }

    /// Where the first prefix may end that gets a name, if there are tools. An engine's own
    /// template may write them behind the instructions, so two chats that part ahead of this
    /// place may share nothing there.
    pub(crate) fn nameless(&self) -> Option<usize> {
        let tools = self.tools_piece()?.range.end;
        let instructions = self.static_end.filter(|end| *end > tools);
        instructions.or(self.semi_static_end).or(Some(tools))
    }

    /// Tools stand in front of everything.
    fn tools_piece(&self) -> Option<&Piece> {
        let first = self.pieces.first();
        first.filter(|piece| matches!(piece.body, Body::Tools))
    }

    /// Takes away the segments from `piece` on, which must be dynamic and begin a message, and
    /// gives them back.
    pub(crate) fn cut(&mut self, piece: usize) -> Vec<CleanSegment> {
        self.close();
        self.reopen();
        let start = self.pieces.get(piece).map_or(self.text.len(), |piece| {
            let before = self.turns.iter().rev().map(|turn| turn.end);
            before
                .into_iter()
                .find(|end| *end <= piece.range.start)
                .unwrap_or(0)
        });
        let taken = self.pieces.split_off(piece.min(self.pieces.len()));
        let segments = taken.into_iter().map(|piece| CleanSegment {
            text: self.text.get(piece.range).unwrap_or_default().to_owned(),
            label: piece.label,
            joint: piece.joint,
            body: piece.body,
        });
        let segments = segments.collect();
        self.turns.retain(|turn| turn.end <= start);
        self.cut_text(start);
        segments
    }

    fn cut_text(&mut self, end: usize) {
        self.text.truncate(end);
        let kept = self.markers.partition_point(|marker| marker.end <= end);
        self.markers.truncate(kept);
    }

    /// Where neighbours of one role are one message, the text says who speaks only once.
    fn joint(&self, segment: &CleanSegment) -> Joint {
        let continues = self.renderer == Renderer::ChatMl
            && self
                .open
                .is_some_and(|open| open.role == segment.role() && open.role.is_some());
        match &segment.joint {
            Joint::ByRole if continues => Joint::Joins,
            Joint::ByRole => Joint::Opens,
            Joint::Joins if self.open.is_none() => Joint::Opens,
            joint => joint.clone(),
        }
    }

    fn open(&mut self, segment: &CleanSegment, joint: &Joint) {
        self.open = Some(Turn {
            end: 0,
            role: segment.role(),
            volatility: segment.label.volatility,
        });
        if self.renderer == Renderer::Plain {
            return;
        }
        self.marker(MESSAGE_START);
        let speaker = segment.role().map_or(TOOLS, Role::as_str);
        self.text.push_str(speaker);
        if let Joint::Answers(id) = joint {
            // Quoted, so that no id can end the line.
            self.text.push(' ');
            self.text
                .push_str(&serde_json::Value::from(id.as_str()).to_string());
        }
        self.text.push('\n');
    }

    fn mark_end(&mut self, volatility: Volatility) {
        let end = Some(self.text.len());
        match volatility {
            Volatility::Static => self.static_end = end,
            Volatility::SemiStatic => self.semi_static_end = end,
            Volatility::Dynamic => {}
        }
        if let Some(open) = &mut self.open {
            open.volatility = volatility;
        }
    }

    fn marker(&mut self, marker: &str) {
        let start = self.text.len();
        self.text.push_str(marker);
        self.markers.push(start..self.text.len());
    }
}
