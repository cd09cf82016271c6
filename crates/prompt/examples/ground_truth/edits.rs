//! The pairs that edit bytes: blanks, characters, JSON and tools, as written and through the SDK.

use headwater::json::{Style, canonical};

use crate::document::{Keys, berths, first_half, head, rules, second_half};
use crate::pair::{How, Pair, QUESTION, Sdk, Side, pair};
use crate::{Result, tools};

const BOTH: [How; 2] = [How::AsWritten, How::Sdk];

/// Blanks at ends and between words.
pub(crate) fn blanks(sdk: &Sdk) -> Result<Vec<Pair>> {
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
pub(crate) fn characters(sdk: &Sdk) -> Result<Vec<Pair>> {
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
    middle("zero-width space in the middle", &format!("\u{200B}{half}"))?;
    Ok(pairs)
}

/// JSON in the text of a prompt.
pub(crate) fn documents(sdk: &Sdk) -> Result<Vec<Pair>> {
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
pub(crate) fn tool_lists(sdk: &Sdk) -> Result<Vec<Pair>> {
    let four = tools::four(Keys::Given, Keys::Given);
    let mut reversed = four.clone();
    reversed.reverse();
    let inner = tools::four(Keys::Reversed, Keys::Given);
    let outer = tools::four(Keys::Given, Keys::Reversed);
    let long = |case| [rules(case), QUESTION.to_owned()];
    let short = |case| [head(case), rules(case) + QUESTION];

    let mut pairs = Vec::new();
    let mut edit =
        |case, [system, question]: [String; 2], first: &[_], second: &[_]| -> Result<()> {
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

    let (case, other) = ("other instructions, the same tools", head("of others"));
    for how in BOTH {
        let [system, question] = long(case);
        let side = |system: &str| tools::side(sdk, how, [system, &question], &four);
        let other = other.clone() + &system;
        pairs.push(pair(case, how, side(&system)?, side(&other)?));
    }
    let case = "tools or none";
    for how in BOTH {
        let [system, question] = long(case);
        let with = tools::side(sdk, how, [&system, &question], &four)?;
        pairs.push(pair(case, how, with, sdk.chat(how, &system, &question)?));
    }
    Ok(pairs)
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
