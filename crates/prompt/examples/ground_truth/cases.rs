//! The pairs: what each one edits, at which place of a prompt, and who wrote the bytes.

use headwater::json::{Style, canonical};
use headwater::{Chat, Prepared, Prompt, Segment, Turn};
use serde_json::json;

use crate::Result;
use crate::document::{Keys, berths, first_half, head, rules, second_half};
use crate::pair::{How, Pair, QUESTION, Sampling, Sdk, Side};
use crate::tools;

const OTHER_QUESTION: &str = "When does the last ferry leave, and from which quay?";
const BOTH: [How; 2] = [How::AsWritten, How::Sdk];

/// All pairs.
pub(crate) fn all(sdk: &Sdk) -> Result<Vec<Pair>> {
    let groups = [
        equal,
        turns,
        clocks,
        blanks,
        characters,
        documents,
        tool_lists,
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
        let tokens = side.text.as_ref().map(|signed| signed.tokens());
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
    let head = Prepared::new(
        Chat::new().system(rules(case)),
        sdk.tokenizer.clone(),
        sdk.options.clone(),
    )?;
    let mut talk = head.conversation();
    let first = Side::of_chat(talk.ask(Turn::user(QUESTION))?)?;
    talk.push(Turn::assistant("Yes, by rule 4."))?;
    let second = Side::of_chat(talk.ask(Turn::user(OTHER_QUESTION))?)?;
    pairs.push(pair(case, How::Sdk, first, second));
    Ok(pairs)
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

/// Blanks at ends and between words.
fn blanks(sdk: &Sdk) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    let case = "blank behind the static text";
    let text = rules(case);
    let text = text.trim_end();
    for how in BOTH {
        let complete = |end: &str| sdk.completion(how, &format!("{text}{end}\n\n"), QUESTION);
        pairs.push(pair(case, how, complete("")?, complete(" ")?));
    }

    let case = "blank at the end of the instructions";
    let text = rules(case);
    let text = text.trim_end();
    pairs.extend(edit(sdk, case, text, &format!("{text} "))?);

    let case = "two blanks in the first sentence";
    let text = rules(case);
    pairs.extend(edit(
        sdk,
        case,
        &text,
        &text.replacen("Answer only", "Answer  only", 1),
    )?);
    Ok(pairs)
}

/// Characters that nobody sees, or that look like others.
fn characters(sdk: &Sdk) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    let mut front = |case, change: fn(&str) -> String| -> Result<()> {
        let text = rules(case);
        pairs.extend(edit(sdk, case, &text, &change(&text))?);
        Ok(())
    };
    front("CRLF for LF", |text| text.replace('\n', "\r\n"))?;
    front("zero-width space in the first sentence", |text| {
        text.replacen("Answer", "Answer\u{200B}", 1)
    })?;
    front("byte order mark at the front", |text| {
        format!("\u{FEFF}{text}")
    })?;
    front("accents as marks of their own", |text| {
        text.replace('é', "e\u{301}")
    })?;
    front("no-break space in the first sentence", |text| {
        text.replacen("Answer only", "Answer\u{A0}only", 1)
    })?;

    let half = second_half();
    let mut middle = |case, changed: &str| -> Result<()> {
        let first = first_half(case);
        pairs.extend(edit(
            sdk,
            case,
            &(first.clone() + &half),
            &(first + changed),
        )?);
        Ok(())
    };
    middle(
        "CRLF for LF in the second half",
        &half.replace('\n', "\r\n"),
    )?;
    middle(
        "zero-width space in the middle",
        &format!("\u{200B}{half}"),
    )?;
    Ok(pairs)
}

/// JSON in the text of a prompt.
fn documents(sdk: &Sdk) -> Result<Vec<Pair>> {
    let given = berths(Keys::Given);
    let reversed = berths(Keys::Reversed);
    let compact = given.replace(", ", ",").replace(": ", ":");
    let edits = [
        ("keys of a document reversed", reversed),
        ("separators of a document without blanks", compact),
    ];
    let mut pairs = Vec::new();
    for (case, other) in edits {
        for how in BOTH {
            let chat = |document: &str| -> Result<Side> {
                let document = match how {
                    How::AsWritten => document.to_owned(),
                    How::Sdk => canonical(document, Style::Spaced)?,
                };
                sdk.chat(how, &format!("{}{document}\n", head(case)), QUESTION)
            };
            pairs.push(pair(case, how, chat(&given)?, chat(&other)?));
        }
    }
    Ok(pairs)
}

/// What callers do to tools.
fn tool_lists(sdk: &Sdk) -> Result<Vec<Pair>> {
    let four = tools::four(Keys::Given, Keys::Given);
    let mut reversed = four.clone();
    reversed.reverse();
    let inner = tools::four(Keys::Reversed, Keys::Given);
    let outer = tools::four(Keys::Given, Keys::Reversed);
    let long = |case| [rules(case), QUESTION.to_owned()];
    let short = |case| [head(case), rules(case) + QUESTION];

    let mut pairs = Vec::new();
    let mut edit = |case, [system, question]: [String; 2], first: &[_], second: &[_]| -> Result<()> {
        for how in BOTH {
            let side = |tools| tools::side(sdk, how, [&system, &question], tools);
            pairs.push(pair(case, how, side(first)?, side(second)?));
        }
        Ok(())
    };
    let case = "tools reversed, long instructions";
    edit(case, long(case), &four, &reversed)?;
    let case = "tools reversed, long question";
    edit(case, short(case), &four, &reversed)?;
    let case = "one more tool at the end";
    edit(case, short(case), &four[..3], &four)?;
    let case = "keys within parameters reversed";
    edit(case, short(case), &four, &inner)?;
    let case = "keys around parameters reversed";
    edit(case, short(case), &four, &outer)?;

    let case = "tools or none";
    let system = rules(case);
    for how in BOTH {
        let with = tools::with_four(sdk, how, &system)?;
        pairs.push(pair(case, how, with, sdk.chat(how, &system, QUESTION)?));
    }
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

/// Two instructions, each as written and through the SDK.
fn edit(sdk: &Sdk, case: &'static str, first: &str, second: &str) -> Result<Vec<Pair>> {
    BOTH.into_iter()
        .map(|how| {
            let chat = |system| sdk.chat(how, system, QUESTION);
            Ok(pair(case, how, chat(first)?, chat(second)?))
        })
        .collect()
}

fn pair(case: &'static str, how: How, first: Side, second: Side) -> Pair {
    Pair {
        case,
        how,
        first,
        second,
    }
}
