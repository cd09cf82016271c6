//! The pairs that are not edits of bytes: nothing, turns, clocks, and settings of a request.

use headwater::{Chat, Conversation, Prepared, Prompt, Segment, SignedPrompt, ToolCall, Turn};
use serde_json::json;

use crate::document::{first_half, rules, second_half};
use crate::pair::{How, Pair, QUESTION, Sampling, Sdk, Side, pair};
use crate::{Result, edits};

const OTHER_QUESTION: &str = "When does the last ferry leave, and from which quay?";

/// All pairs.
pub(crate) fn all(sdk: &Sdk) -> Result<Vec<Pair>> {
    let groups = [
        equal,
        turns,
        clocks,
        edits::blanks,
        edits::characters,
        edits::documents,
        edits::tool_lists,
        settings,
    ];
    let mut pairs = Vec::new();
    for group in groups {
        pairs.extend(group(sdk)?);
    }
    Ok(pairs)
}

/// Nothing is edited.
fn equal(sdk: &Sdk) -> Result<Vec<Pair>> {
    let case = "identical text";
    let text = sdk.completion(How::Sdk, &rules(case), QUESTION)?;
    let mut pairs = vec![pair(case, How::Sdk, text.clone(), text)];

    let case = "identical chat";
    let chat = sdk.chat(How::Sdk, &rules(case), QUESTION)?;
    pairs.push(pair(case, How::Sdk, chat.clone(), chat));

    let case = "identical text of whole blocks";
    let full = of_whole_blocks(sdk, case)?;
    pairs.push(pair(case, How::Sdk, full.clone(), full));
    Ok(pairs)
}

/// A text that ends where a block ends, so that its last block is computed again.
fn of_whole_blocks(sdk: &Sdk, case: &str) -> Result<Side> {
    let mut question = QUESTION.to_owned();
    for _ in 0..sdk.options.block.get() {
        let side = sdk.completion(How::Sdk, &rules(case), &question)?;
        let tokens = side.text.as_ref().map(SignedPrompt::tokens);
        if tokens.is_some_and(|tokens| tokens.is_multiple_of(sdk.options.block.get())) {
            return Ok(side);
        }
        question.push_str(" Is it?");
    }
    Err("no length of the question fills the last block".into())
}

/// The edit stands behind what is stable.
fn turns(sdk: &Sdk) -> Result<Vec<Pair>> {
    let case = "another question";
    let ask = |question| sdk.chat(How::Sdk, &rules(case), question);
    let mut pairs = vec![pair(case, How::Sdk, ask(QUESTION)?, ask(OTHER_QUESTION)?)];

    let case = "next turn";
    let mut talk = conversation(sdk, case)?;
    let first = Side::of_chat(talk.ask(Turn::user(QUESTION))?)?;
    talk.push(Turn::assistant("Yes, by rule 4."))?;
    let second = Side::of_chat(talk.ask(Turn::user(OTHER_QUESTION))?)?;
    pairs.push(pair(case, How::Sdk, first, second));

    let case = "next turn with a tool's answer";
    let mut talk = conversation(sdk, case)?;
    let first = Side::of_text(talk.ask(Turn::user(QUESTION))?);
    let (id, arguments) = ("call_7".to_owned(), r#"{"quay":  17}"#.to_owned());
    let name = "berths".to_owned();
    let call = ToolCall {
        id: id.clone(),
        name,
        arguments,
        ..ToolCall::default()
    };
    talk.push(Turn::assistant("").call(call))?;
    talk.push(Turn::tool(id, "One berth is free."))?;
    pairs.push(pair(case, How::Sdk, first, Side::of_text(talk.sign()?)));
    Ok(pairs)
}

fn conversation(sdk: &Sdk, case: &str) -> Result<Conversation> {
    let chat = Chat::new().system(rules(case));
    let head = Prepared::new(chat, sdk.tokenizer.clone(), sdk.options.clone())?;
    Ok(head.conversation())
}

/// A clock at the front, in the middle, and where the SDK puts facts.
fn clocks(sdk: &Sdk) -> Result<Vec<Pair>> {
    let now = |second: &str| format!("Now: 2026-11-29T12:00:{second}Z\n");
    let chat = |system: String| sdk.chat(How::AsWritten, &system, QUESTION);
    let (early, late) = (now("07"), now("58"));

    let case = "clock at the front";
    let system = rules(case);
    let mut pairs = vec![pair(
        case,
        How::AsWritten,
        chat(early.clone() + &system)?,
        chat(late.clone() + &system)?,
    )];

    let case = "clock in the middle";
    let around = |now: &str| chat(first_half(case) + now + &second_half());
    pairs.push(pair(case, How::AsWritten, around(&early)?, around(&late)?));

    let case = "clock as a fact of the turn";
    let system = rules(case);
    let fact = |now: &str| -> Result<Side> {
        let turn = Turn::user(QUESTION).fact("now", now);
        let chat = Chat::new().system(system.as_str()).turn(turn);
        Side::of_chat(sdk.sign(&chat.prompt()?)?)
    };
    pairs.push(pair(case, How::Sdk, fact(&early)?, fact(&late)?));
    Ok(pairs)
}

/// What a request says besides its text.
fn settings(sdk: &Sdk) -> Result<Vec<Pair>> {
    let chat = |case| sdk.chat(How::Sdk, &rules(case), QUESTION);
    let case = "instructions as content parts";
    let whole = chat(case)?;
    let mut parts = Side {
        text: None,
        ..whole.clone()
    };
    if let Some(chat) = &mut parts.chat {
        let content = chat.messages[0]["content"].take();
        chat.messages[0]["content"] = json!([{"type": "text", "text": content}]);
    }
    let mut pairs = vec![pair(case, How::Sdk, whole, parts)];

    let case = "another temperature and length";
    let cold = chat(case)?;
    let warm = Side {
        sampling: Sampling {
            temperature: 0.9,
            max_tokens: 3,
        },
        ..cold.clone()
    };
    pairs.push(pair(case, How::Sdk, cold, warm));

    let salts = [
        ("the same cache salt", ["quay-1", "quay-1"]),
        ("another cache salt", ["quay-1", "quay-2"]),
    ];
    for (case, salts) in salts {
        let [first, second] = salts.map(Some);
        let salted = |cache_salt| -> Result<Side> {
            Ok(Side {
                cache_salt,
                ..chat(case)?
            })
        };
        pairs.push(pair(case, How::Sdk, salted(first)?, salted(second)?));
    }

    let case = "thinking switched off";
    let thinking = chat(case)?;
    let silent = without_thinking(sdk, &thinking)?;
    pairs.push(pair(case, How::Sdk, thinking, silent));
    Ok(pairs)
}

/// The same chat as Qwen3's template writes it when it is told that the model must not think.
fn without_thinking(sdk: &Sdk, side: &Side) -> Result<Side> {
    let signed = side.text.as_ref().ok_or("a chat has a text")?;
    let text = format!("{}<think>\n\n</think>\n\n", signed.text());
    let prompt = Prompt::builder().dynamic(Segment::new(text).verbatim());
    let signed = sdk.sign(&prompt.build()?)?;
    let mut silent = Side {
        text: Some(signed.clone()),
        ..side.clone()
    };
    if let Some(chat) = &mut silent.chat {
        chat.switches = Some(json!({"enable_thinking": false}));
        chat.rendered = signed;
    }
    Ok(silent)
}
