//! Chat completions: OpenAI and those who speak like it.

use super::{
    Api, BodyError, Keep,
    draft::Draft,
    media,
    ordered::{Members, Ordered, object, raw, text},
    outline::{Block, Content, Entry},
    tool::{self, Form},
};

/// Model, tools, messages, then what steers the cache.
pub(super) fn members<'a>(draft: &Draft<'a>) -> Result<Members<'a>, BodyError> {
    let mut members = draft.model();
    if let Some(tools) = tools(draft, Form::Chat)? {
        members.push(("tools".into(), tools));
    }
    let messages = draft.outline.messages.iter();
    let messages = messages.map(|entry| message(draft, entry));
    let messages = messages.collect::<Result<_, _>>()?;
    members.push(("messages".into(), Ordered::List(messages)));
    members.extend(steering(draft));
    Ok(members)
}

/// The tools as a list, in a form whose tools carry no markers.
pub(super) fn tools<'a>(draft: &Draft<'a>, form: Form) -> Result<Option<Ordered<'a>>, BodyError> {
    let Some(Content::Tools(list)) = draft.outline.tools.as_ref().map(|block| block.content) else {
        return Ok(None);
    };
    let tools = tool::convert(draft.api, list, form)?.into_iter();
    Ok(Some(Ordered::List(tools.map(|tool| tool.json).collect())))
}

/// What tells the provider's routers and cache which prompts belong together, and for how long.
pub(super) fn steering<'a>(draft: &Draft<'a>) -> Members<'a> {
    let mut members = Members::new();
    match draft.api {
        Api::OpenAiChat | Api::OpenAiResponses | Api::AzureChat => {
            if let Some(key) = draft.rules.routing_key.clone() {
                let affinity = draft.signed.affinity().to_string();
                members.push((key.into(), text(affinity)));
            }
            if let Some(longest) = draft
                .longest()
                .filter(|_| draft.options.keep != Keep::Short)
            {
                // The two exclude each other: models with markers know the first one only.
                members.push(match draft.rules.marker_key {
                    Some(_) => ("prompt_cache_options".into(), object([("ttl", longest)])),
                    None => ("prompt_cache_retention".into(), longest),
                });
            }
        }
        Api::VllmChat | Api::SglangChat => {
            if let Some(salt) = &draft.signed.cache_salt {
                members.push(("cache_salt".into(), text(salt.to_string())));
            }
        }
        _ => {}
    }
    members
}

/// The value of a marker in a chat or responses body.
pub(super) fn marker_base<'a>(api: Api) -> Ordered<'a> {
    match api {
        Api::OpenAiChat | Api::OpenAiResponses => object([("mode", text("explicit"))]),
        _ => object([("type", text("ephemeral"))]),
    }
}

fn message<'a>(draft: &Draft<'a>, entry: &Entry<'a>) -> Result<Ordered<'a>, BodyError> {
    let mut message = object([
        ("role", text(entry.role.as_str())),
        ("content", content(draft, entry)?),
    ]);
    let calls: Vec<_> = entry.calls().filter_map(call).collect();
    if !calls.is_empty() {
        message = message.with("tool_calls", Ordered::List(calls));
    }
    let id = entry.call_id.map(|id| ("tool_call_id".into(), text(id)));
    Ok(message.with_some(id))
}

/// One string; or blocks, where there are media or where markers are written.
fn content<'a>(draft: &Draft<'a>, entry: &Entry<'a>) -> Result<Ordered<'a>, BodyError> {
    let media = |block: &Block<'_>| matches!(block.content, Content::Media(_));
    if entry.said().next().is_none() {
        Ok(raw("null"))
    } else if draft.marks() || entry.said().any(media) {
        let parts = entry.said().map(|block| part(draft, block));
        Ok(Ordered::List(parts.collect::<Result<_, _>>()?))
    } else {
        Ok(match entry.blocks.as_slice() {
            [one] => text(one.text().unwrap_or_default()),
            _ => text(entry.text()),
        })
    }
}

fn part<'a>(draft: &Draft<'a>, block: &Block<'a>) -> Result<Ordered<'a>, BodyError> {
    let part = match block.content {
        Content::Media(media) => media::as_given(draft.api, block, media)?,
        _ => object([
            ("type", text("text")),
            ("text", text(block.text().unwrap_or_default())),
        ]),
    };
    Ok(part.with_some(draft.marker(block, marker_base(draft.api))))
}

fn call<'a>(block: &Block<'a>) -> Option<Ordered<'a>> {
    let Content::Call(call) = block.content else {
        return None;
    };
    let function = object([
        ("name", text(&*call.name)),
        ("arguments", text(&*call.arguments)),
    ]);
    Some(object([
        ("id", text(&*call.id)),
        ("type", text("function")),
        ("function", function),
    ]))
}
