//! Chat messages as they are sent: text, media by content, tool calls and their results.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde_json::{Value, json};

use crate::{
    Role,
    prompt::{Body, Joint},
    render::{CALL, MEDIA, Rendered, Renderer},
};

/// A chat message as it is sent: a view of the signed text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message<'a> {
    /// Who speaks.
    pub role: Role,
    /// The canonical text, without media and tool calls. Borrowed unless those part it.
    pub content: Cow<'a, str>,
    /// Images and sound, in order.
    pub attachments: Vec<Attachment<'a>>,
    /// What the model asked tools to do.
    pub calls: Vec<&'a ToolCall>,
    /// For a tool's result: the id of the call that it answers.
    pub call_id: Option<&'a str>,
}

/// An image or sound with its place in a message's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attachment<'a> {
    /// The byte of the text that it stands before.
    pub at: usize,
    /// What.
    pub media: &'a Media,
}

/// The messages of a prompt with roles. They are made when asked for, because a second copy of
/// a long prompt would be what takes most memory.
pub(crate) fn read(rendered: &Rendered) -> Option<Vec<Message<'_>>> {
    if rendered.renderer == Renderer::Plain {
        return None;
    }
    let mut messages: Vec<Message<'_>> = Vec::new();
    // Where the text of the last message so far stands in the whole.
    let mut known = 0..0;
    for piece in &rendered.pieces {
        let Some(role) = piece.label.role else {
            continue;
        };
        if messages.is_empty() || !matches!(piece.joint, Joint::Joins) {
            known = piece.range.start..piece.range.start;
            messages.push(Message::new(role, &piece.joint));
        }
        let Some(message) = messages.last_mut() else {
            continue;
        };
        match &piece.body {
            Body::Tools => {}
            Body::Text => message.add(&rendered.text, &mut known, &piece.range),
            Body::Media(media) => message.attachments.push(Attachment {
                at: message.content.len(),
                media,
            }),
            Body::Call(call) => message.calls.push(call),
        }
    }
    Some(messages)
}

impl<'a> Message<'a> {
    fn new(role: Role, joint: &'a Joint) -> Self {
        let call_id = match joint {
            Joint::Answers(id) => Some(id.as_str()),
            Joint::ByRole | Joint::Opens | Joint::Joins => None,
        };
        Self {
            role,
            content: Cow::Borrowed(""),
            attachments: Vec::new(),
            calls: Vec::new(),
            call_id,
        }
    }

    /// Adds a range of `text` to the content, which is `known` as long as it is borrowed.
    fn add(&mut self, text: &'a str, known: &mut Range<usize>, range: &Range<usize>) {
        if self.content.is_empty() {
            known.start = range.start;
        } else if known.end != range.start {
            let more = text.get(range.clone()).unwrap_or_default();
            self.content.to_mut().push_str(more);
            // Nothing is borrowed from here on.
            known.end = usize::MAX;
            return;
        }
        known.end = range.end;
        self.content = Cow::Borrowed(text.get(known.clone()).unwrap_or_default());
    }

    /// The message in the JSON form of chat endpoints. The content is one string, or a list of
    /// parts where there are media; tool calls carry their arguments as they were given.
    pub fn json(&self) -> Value {
        let mut message = json!({"role": self.role.as_str(), "content": self.content_json()});
        let mut set = |key: &str, value| {
            if let Some(members) = message.as_object_mut() {
                members.insert(key.to_owned(), value);
            }
        };
        if !self.calls.is_empty() {
            set(
                "tool_calls",
                self.calls.iter().map(|call| call.json()).collect(),
            );
        }
        if let Some(id) = &self.call_id {
            set("tool_call_id", json!(id));
        }
        message
    }

    fn content_json(&self) -> Value {
        if self.attachments.is_empty() {
            let silent = self.content.is_empty() && !self.calls.is_empty();
            return if silent {
                Value::Null
            } else {
                json!(self.content)
            };
        }
        let mut parts = Vec::new();
        let mut done = 0;
        let mut text_until = |parts: &mut Vec<Value>, end: usize| {
            let text = self.content.get(done..end).unwrap_or_default();
            if !text.is_empty() {
                parts.push(json!({"type": "text", "text": text}));
            }
            done = end;
        };
        for attachment in &self.attachments {
            text_until(&mut parts, attachment.at);
            parts.push(attachment.media.body.clone());
        }
        text_until(&mut parts, self.content.len());
        Value::Array(parts)
    }
}

/// A tool call that the model made, to be replayed exactly as it came.
///
/// Not `non_exhaustive`: callers build it from a response, as
/// `ToolCall { id, name, arguments, ..ToolCall::default() }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// The id that the result refers to. Part of what is signed, since some templates print it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them. Never parsed and never rewritten: another spacing
    /// would be other tokens than those in the engine's cache.
    pub arguments: String,
    /// What Gemini sent as `thoughtSignature` beside the call, and wants to have back with it.
    /// `None` elsewhere. It is not signed: no other endpoint gets it, and no engine renders it.
    pub thought_signature: Option<String>,
}

impl ToolCall {
    fn json(&self) -> Value {
        json!({"id": self.id, "type": "function",
            "function": {"name": self.name, "arguments": self.arguments}})
    }

    /// How the signed text shows it.
    pub(crate) fn text(&self) -> String {
        let (id, name) = (json!(self.id), json!(self.name));
        format!(
            "{CALL}{{\"id\": {id}, \"name\": {name}, \"arguments\": {}}}\n",
            self.arguments
        )
    }
}

/// What kind of medium a part of a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MediaKind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
}

impl MediaKind {
    /// `image` or `audio`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
        }
    }
}

/// BLAKE3 of a medium's bytes: what stands for it in the signed text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MediaDigest([u8; 32]);

impl MediaDigest {
    /// Of the bytes of the file as the engine gets to see it.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// A digest computed elsewhere.
    pub const fn from_bytes(digest: [u8; 32]) -> Self {
        Self(digest)
    }
}

impl fmt::Display for MediaDigest {
    /// 64 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for MediaDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MediaDigest({self})")
    }
}

/// An image or sound in a message.
///
/// Its digest is signed; its URL or data goes into the message and nowhere else. So the same
/// picture under a new signed URL is still the same prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    pub(crate) kind: MediaKind,
    pub(crate) digest: MediaDigest,
    pub(crate) body: Value,
}

impl Media {
    /// An image by URL, `https:` or `data:`.
    pub fn image(digest: MediaDigest, url: impl Into<String>) -> Self {
        let url: String = url.into();
        Self::new(
            MediaKind::Image,
            digest,
            json!({"type": "image_url", "image_url": {"url": url}}),
        )
    }

    /// Sound as base64, in a format such as `wav`.
    pub fn audio(digest: MediaDigest, format: &str, base64: &str) -> Self {
        Self::new(
            MediaKind::Audio,
            digest,
            json!({"type": "input_audio", "input_audio": {"data": base64, "format": format}}),
        )
    }

    /// A part in a form of the caller's. `part` goes into the message as it is; whatever in it
    /// changes the tokens (a level of detail) belongs into `digest` as well.
    pub fn new(kind: MediaKind, digest: MediaDigest, part: Value) -> Self {
        Self {
            kind,
            digest,
            body: part,
        }
    }

    /// How the signed text shows it.
    pub(crate) fn text(&self) -> String {
        format!("{MEDIA}{}:{}\n", self.kind.as_str(), self.digest)
    }
}
