//! Long texts to edit: rules for a harbour, and records of its berths.

use std::fmt::Write;

/// Ten of them make a line. One has an accent, for normal forms.
const WORDS: &str = "the harbour office keeps one berth free for a ferry that is late and the café on \
    the quay stays open until its last guest has left or the tide turns";

/// Some 2,400 tokens of rules whose first line is of this case alone.
pub(crate) fn rules(case: &str) -> String {
    format!("{}{}", head(case), lines(0, 150))
}

/// The first half of [`rules`].
pub(crate) fn first_half(case: &str) -> String {
    format!("{}{}", head(case), lines(0, 75))
}

/// The second half of [`rules`].
pub(crate) fn second_half() -> String {
    lines(75, 150)
}

/// A line of this case alone, which keeps the pairs from warming each other.
pub(crate) fn head(case: &str) -> String {
    format!("Case {case}.\nAnswer only from the rules below.\n")
}

fn lines(from: usize, to: usize) -> String {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut text = String::new();
    for line in from..to {
        let words: Vec<&str> = (0..10)
            .map(|word| words[(line * 7 + word) % words.len()])
            .collect();
        // Writing into a string does not fail.
        let _ = writeln!(text, "{}. {}", line + 1, words.join(" "));
    }
    text
}

/// In which order an object's keys are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    Given,
    Reversed,
}

/// The JSON text of an object whose values are JSON texts.
pub(crate) fn object(members: &[(&str, String)], keys: Keys) -> String {
    let mut members: Vec<String> = members
        .iter()
        .map(|(key, value)| format!("\"{key}\": {value}"))
        .collect();
    if keys == Keys::Reversed {
        members.reverse();
    }
    format!("{{{}}}", members.join(", "))
}

/// A JSON list of 60 berths.
pub(crate) fn berths(keys: Keys) -> String {
    let berth = |number: usize| {
        let depth = object(
            &[
                ("low", number.to_string()),
                ("high", (2 * number).to_string()),
            ],
            keys,
        );
        let members = [
            ("berth", number.to_string()),
            ("name", format!("\"Quay {number}\"")),
            ("fee", (3 * number).to_string()),
            ("depth", depth),
        ];
        object(&members, keys)
    };
    let berths: Vec<String> = (0..60).map(berth).collect();
    format!("[{}]", berths.join(", "))
}
