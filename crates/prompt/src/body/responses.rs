//! OpenAI's responses: one list of items, with tool calls and their results beside the messages.

use super::{
    BodyError, chat,
    draft::Draft,
    media,
    ordered::{Members, Ordered, object, text},
    outline::{Block, Content, Entry},
    tool::Form,
};
use crate::Role;

/// Model, tools, input, then what steers the cache. Instructions stand in the input, where they
/// can carry a marker.
pub(super) fn members<'a>(draft: &Draft<'a>) -> Result<Members<'a>, BodyError> {
    let mut members = draft.model();
    if let Some(tools) = chat::tools(draft, Form::Responses)? {
        members.push(("tools".into(), tools));
    }
    let mut items = Vec::new();
    for entry in &draft.outline.messages {
        match entry.role {
            Role::Tool => items.push(result(draft, entry)?),
            Role::System | Role::User | Role::Assistant => {
                if entry.said().next().is_some() {
                    items.push(message(draft, entry)?);
                }
                items.extend(entry.calls().filter_map(call));
            }
        }
    }
    members.push(("input".into(), Ordered::List(items)));
    members.extend(chat::steering(draft));
    Ok(members)
}

fn message<'a>(draft: &Draft<'a>, entry: &Entry<'a>) -> Result<Ordered<'a>, BodyError> {
    let kind = match entry.role {
        Role::Assistant => "output_text",
        Role::System | Role::User | Role::Tool => "input_text",
    };
    let parts = entry.said().map(|block| part(draft, block, kind));
    Ok(object([
        ("role", text(entry.role.as_str())),
        ("content", Ordered::List(parts.collect::<Result<_, _>>()?)),
    ]))
}

fn part<'a>(
    draft: &Draft<'a>,
    block: &Block<'a>,
    kind: &'static str,
) -> Result<Ordered<'a>, BodyError> {
    let part = match block.content {
        Content::Media(media) => media::responses(draft.api, block, media)?,
        _ => object([
            ("type", text(kind)),
            ("text", text(block.text().unwrap_or_default())),
        ]),
    };
    Ok(part.with_some(draft.marker(block, chat::marker_base(draft.api))))
}

fn call<'a>(block: &Block<'a>) -> Option<Ordered<'a>> {
    let Content::Call(call) = block.content else {
        return None;
    };
    Some(object([
        ("type", text("function_call")),
        ("call_id", text(&*call.id)),
        ("name", text(&*call.name)),
        ("arguments", text(&*call.arguments)),
    ]))
}

fn result<'a>(draft: &Draft<'a>, entry: &Entry<'a>) -> Result<Ordered<'a>, BodyError> {
    let first = entry.blocks.first();
    let Some(id) = entry.call_id else {
        return Err(
            first.map_or(BodyError::NoMessages { api: draft.api }, |block| {
                draft.unknown_call(block)
            }),
        );
    };
    Ok(object([
        ("type", text("function_call_output")),
        ("call_id", text(id)),
        ("output", text(entry.text())),
    ]))
}
