//! Anthropic's messages: system as a list of blocks, tool results inside user messages.

use super::{
    Api, BodyError, MediaProblem,
    draft::Draft,
    media::{self, Shape},
    ordered::{Members, Ordered, object, text},
    outline::{Block, Content, Entry},
    tool::{self, Form},
};
use crate::Role;

/// The only version of the form that Vertex takes.
const VERTEX_VERSION: &str = "vertex-2023-10-16";

/// Model or version, tools, system, messages: the order in which the provider hashes them, and in which a
/// platform that hashes the text wants them written.
pub(super) fn members<'a>(draft: &Draft<'a>) -> Result<Members<'a>, BodyError> {
    let mut members = match draft.api {
        Api::AnthropicVertex => vec![("anthropic_version".into(), text(VERTEX_VERSION))],
        _ => draft.model(),
    };
    if let Some(tools) = tools(draft)? {
        members.push(("tools".into(), tools));
    }
    if !draft.outline.system.is_empty() {
        let system = draft.outline.system.iter();
        let system = system.map(|block| self::block(draft, block));
        let system = system.collect::<Result<_, _>>()?;
        members.push(("system".into(), Ordered::List(system)));
    }
    let messages = draft.outline.messages.chunk_by(same_side);
    let messages = messages.map(|entries| message(draft, entries));
    let messages = messages.collect::<Result<_, _>>()?;
    members.push(("messages".into(), Ordered::List(messages)));
    Ok(members)
}

/// Whether two messages are one where users and models take turns.
pub(super) fn same_side(one: &Entry<'_>, next: &Entry<'_>) -> bool {
    (one.role == Role::Assistant) == (next.role == Role::Assistant)
}

fn tools<'a>(draft: &Draft<'a>) -> Result<Option<Ordered<'a>>, BodyError> {
    let Some(block) = &draft.outline.tools else {
        return Ok(None);
    };
    let Content::Tools(list) = block.content else {
        return Ok(None);
    };
    let tools = tool::convert(draft.api, list, Form::Anthropic)?;
    let mut tools: Vec<_> = tools.into_iter().map(|tool| tool.json).collect();
    if let Some(last) = tools.pop() {
        tools.push(marked(draft, block, last));
    }
    Ok(Some(Ordered::List(tools)))
}

fn message<'a>(draft: &Draft<'a>, entries: &[Entry<'a>]) -> Result<Ordered<'a>, BodyError> {
    let mut blocks = Vec::new();
    let mut role = Role::User;
    for entry in entries {
        for block in &entry.blocks {
            blocks.push(match entry.role {
                Role::Tool => result(draft, entry, block)?,
                Role::System | Role::User | Role::Assistant => self::block(draft, block)?,
            });
        }
        if entry.role == Role::Assistant {
            role = Role::Assistant;
        }
    }
    Ok(object([
        ("role", text(role.as_str())),
        ("content", Ordered::List(blocks)),
    ]))
}

fn block<'a>(draft: &Draft<'a>, block: &Block<'a>) -> Result<Ordered<'a>, BodyError> {
    let json = match block.content {
        Content::Tools(said) | Content::Text(said) => object([
            ("type", text("text")),
            ("text", draft.visible(block, said)?),
        ]),
        Content::Media(medium) => match media::shape(draft.api, block, medium)? {
            Shape::Own(own) => own,
            Shape::Data { kind, base64 } => image([
                ("type", text("base64")),
                ("media_type", text(kind)),
                ("data", text(base64)),
            ]),
            Shape::Address(url) => image([("type", text("url")), ("url", text(url))]),
            Shape::Sound { .. } => {
                return Err(media::refuse(draft.api, block, MediaProblem::Kind));
            }
        },
        Content::Call(call) => object([
            ("type", text("tool_use")),
            ("id", text(&*call.id)),
            ("name", text(&*call.name)),
            ("input", draft.arguments(block, call)?),
        ]),
    };
    Ok(marked(draft, block, json))
}

fn image<'a, const N: usize>(source: [(&'a str, Ordered<'a>); N]) -> Ordered<'a> {
    object([("type", text("image")), ("source", object(source))])
}

fn result<'a>(
    draft: &Draft<'a>,
    entry: &Entry<'a>,
    block: &Block<'a>,
) -> Result<Ordered<'a>, BodyError> {
    let id = entry.call_id.ok_or_else(|| draft.unknown_call(block))?;
    let json = object([
        ("type", text("tool_result")),
        ("tool_use_id", text(id)),
        ("content", text(block.text().unwrap_or_default())),
    ]);
    Ok(marked(draft, block, json))
}

fn marked<'a>(draft: &Draft<'a>, block: &Block<'_>, json: Ordered<'a>) -> Ordered<'a> {
    json.with_some(draft.marker(block, object([("type", text("ephemeral"))])))
}
