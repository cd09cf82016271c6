//! Gemini's `generateContent`: no markers, the order alone decides what is found again.

use std::collections::BTreeMap;

use super::{
    BodyError, MediaProblem,
    anthropic::same_side,
    draft::Draft,
    media::{self, Shape},
    ordered::{Members, Ordered, object, text},
    outline::{Block, Content, Entry},
    tool::{self, Form},
};
use crate::Role;

/// System, tools, contents. The model is in the URL.
pub(super) fn members<'a>(draft: &Draft<'a>) -> Result<Members<'a>, BodyError> {
    let mut members = Members::new();
    let mut writer = Writer {
        draft,
        names: BTreeMap::new(),
    };
    // What is cached by name has the head of the prompt; the endpoint refuses it a second time.
    if let Some(name) = &draft.options.cached_content {
        members.push(("cachedContent".into(), text(name.as_str())));
    } else {
        if !draft.outline.system.is_empty() {
            let system = draft.outline.system.iter();
            let parts = system.map(|block| writer.part(block));
            let parts = parts.collect::<Result<_, _>>()?;
            let system = object([("parts", Ordered::List(parts))]);
            members.push(("systemInstruction".into(), system));
        }
        if let Some(tools) = tools(draft)? {
            members.push(("tools".into(), tools));
        }
    }
    let contents = draft.outline.messages.chunk_by(same_side);
    let contents = contents.map(|entries| writer.content(entries));
    let contents = contents.collect::<Result<_, _>>()?;
    members.push(("contents".into(), Ordered::List(contents)));
    Ok(members)
}

/// Declarations share one element of the list, tools that the provider runs have one each.
fn tools<'a>(draft: &Draft<'a>) -> Result<Option<Ordered<'a>>, BodyError> {
    let Some(Content::Tools(list)) = draft.outline.tools.as_ref().map(|block| block.content) else {
        return Ok(None);
    };
    let tools = tool::convert(draft.api, list, Form::Gemini)?.into_iter();
    let (declared, hosted): (Vec<_>, Vec<_>) = tools.partition(|tool| tool.form != Form::Hosted);
    let declared: Vec<_> = declared.into_iter().map(|tool| tool.json).collect();
    let mut list = Vec::new();
    if !declared.is_empty() {
        list.push(object([("functionDeclarations", Ordered::List(declared))]));
    }
    list.extend(hosted.into_iter().map(|tool| tool.json));
    Ok(Some(Ordered::List(list)))
}

struct Writer<'d, 'a> {
    draft: &'d Draft<'a>,
    /// Of the calls so far, by their ids: a result is sent under the tool's name.
    names: BTreeMap<&'a str, &'a str>,
}

impl<'a> Writer<'_, 'a> {
    fn content(&mut self, entries: &[Entry<'a>]) -> Result<Ordered<'a>, BodyError> {
        let mut parts = Vec::new();
        let mut role = "user";
        for entry in entries {
            for block in &entry.blocks {
                parts.push(match entry.role {
                    Role::Tool => self.result(entry, block)?,
                    Role::System | Role::User | Role::Assistant => self.part(block)?,
                });
            }
            if entry.role == Role::Assistant {
                role = "model";
            }
        }
        Ok(object([
            ("role", text(role)),
            ("parts", Ordered::List(parts)),
        ]))
    }

    fn part(&mut self, block: &Block<'a>) -> Result<Ordered<'a>, BodyError> {
        let api = self.draft.api;
        Ok(match block.content {
            Content::Tools(said) | Content::Text(said) => {
                object([("text", self.draft.visible(block, said)?)])
            }
            Content::Media(medium) => match media::shape(api, block, medium)? {
                Shape::Own(own) => own,
                Shape::Data { kind, base64 } => inline(kind.to_owned(), base64),
                Shape::Sound { format, base64 } => inline(format!("audio/{format}"), base64),
                Shape::Address(_) => {
                    return Err(media::refuse(api, block, MediaProblem::Address));
                }
            },
            Content::Call(call) => {
                self.names.insert(&call.id, &call.name);
                let said = object([(
                    "functionCall",
                    object([
                        ("name", text(&*call.name)),
                        ("args", self.draft.arguments(block, call)?),
                    ]),
                )]);
                let thought = call.thought_signature.as_deref();
                said.with_some(thought.map(|it| ("thoughtSignature".into(), text(it))))
            }
        })
    }

    fn result(&self, entry: &Entry<'a>, block: &Block<'a>) -> Result<Ordered<'a>, BodyError> {
        let name = entry.call_id.and_then(|id| self.names.get(id).copied());
        let name = name.ok_or_else(|| self.draft.unknown_call(block))?;
        let said = text(block.text().unwrap_or_default());
        Ok(object([(
            "functionResponse",
            object([
                ("name", text(name)),
                ("response", object([("output", said)])),
            ]),
        )]))
    }
}

fn inline<'a>(kind: String, base64: &'a str) -> Ordered<'a> {
    object([(
        "inlineData",
        object([("mimeType", text(kind)), ("data", text(base64))]),
    )])
}
