//! Amazon Bedrock's Converse: markers are blocks of their own, behind what they end.

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

/// Tools, system, messages. The model is in the URL.
pub(super) fn members<'a>(draft: &Draft<'a>) -> Result<Members<'a>, BodyError> {
    let mut members = Members::new();
    if let Some(config) = tool_config(draft)? {
        members.push(("toolConfig".into(), config));
    }
    if !draft.outline.system.is_empty() {
        let mut system = Vec::new();
        for block in &draft.outline.system {
            system.push(self::block(draft, block)?);
            system.extend(point(draft, block));
        }
        members.push(("system".into(), Ordered::List(system)));
    }
    let messages = draft.outline.messages.chunk_by(same_side);
    let messages = messages.map(|entries| message(draft, entries));
    let messages = messages.collect::<Result<_, _>>()?;
    members.push(("messages".into(), Ordered::List(messages)));
    Ok(members)
}

/// The parameter that belongs beside the tools, and nowhere else.
pub(super) const TOOL_CHOICE: &str = "toolChoice";

/// The tools and, behind them, which of them the model has to use.
fn tool_config<'a>(draft: &Draft<'a>) -> Result<Option<Ordered<'a>>, BodyError> {
    let given = draft.options.parameters.iter();
    let mut choices = given.filter(|(name, _)| name == TOOL_CHOICE);
    let (choice, second) = (choices.next(), choices.next());
    let Some(tools) = tools(draft)? else {
        return match choice {
            Some(_) => Err(BodyError::NoTools {
                api: draft.api,
                name: TOOL_CHOICE,
            }),
            None => Ok(None),
        };
    };
    if let Some((name, _)) = second {
        let (api, name) = (draft.api, name.clone());
        return Err(BodyError::Parameter { api, name });
    }
    let mut config = object([("tools", tools)]);
    if let Some((name, value)) = choice {
        config = config.with(TOOL_CHOICE, draft.parameter(name, value)?);
    }
    Ok(Some(config))
}

/// The marker behind a block.
fn point<'a>(draft: &Draft<'a>, block: &Block<'_>) -> Option<Ordered<'a>> {
    let (key, value) = draft.marker(block, object([("type", text("default"))]))?;
    Some(object([]).with(key, value))
}

fn tools<'a>(draft: &Draft<'a>) -> Result<Option<Ordered<'a>>, BodyError> {
    let Some(block) = &draft.outline.tools else {
        return Ok(None);
    };
    let Content::Tools(list) = block.content else {
        return Ok(None);
    };
    let tools = tool::convert(draft.api, list, Form::Bedrock)?.into_iter();
    let tools = tools.map(|tool| tool.json).chain(point(draft, block));
    Ok(Some(Ordered::List(tools.collect())))
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
            // Beside a tool's result, never inside, where it is ignored.
            blocks.extend(point(draft, block));
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
    Ok(match block.content {
        Content::Tools(said) | Content::Text(said) => {
            object([("text", draft.visible(block, said)?)])
        }
        Content::Media(medium) => {
            let refuse = |problem| media::refuse(draft.api, block, problem);
            match media::shape(draft.api, block, medium)? {
                Shape::Own(own) => own,
                Shape::Data { kind, base64 } => {
                    let format = kind.strip_prefix("image/");
                    let format = format.ok_or_else(|| refuse(MediaProblem::Kind))?;
                    object([(
                        "image",
                        object([
                            ("format", text(format)),
                            ("source", object([("bytes", text(base64))])),
                        ]),
                    )])
                }
                Shape::Address(_) => return Err(refuse(MediaProblem::Address)),
                Shape::Sound { .. } => return Err(refuse(MediaProblem::Kind)),
            }
        }
        Content::Call(call) => object([(
            "toolUse",
            object([
                ("toolUseId", text(&*call.id)),
                ("name", text(&*call.name)),
                ("input", draft.arguments(block, call)?),
            ]),
        )]),
    })
}

fn result<'a>(
    draft: &Draft<'a>,
    entry: &Entry<'a>,
    block: &Block<'a>,
) -> Result<Ordered<'a>, BodyError> {
    let id = entry.call_id.ok_or_else(|| draft.unknown_call(block))?;
    let said = object([("text", text(block.text().unwrap_or_default()))]);
    Ok(object([(
        "toolResult",
        object([
            ("toolUseId", text(id)),
            ("content", Ordered::List(vec![said])),
        ]),
    )]))
}
