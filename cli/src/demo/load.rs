//! The load: who says what and when, the same for every policy.
//!
//! Tenants have a long static system prompt each. A conversation brings a document of its own and
//! asks five questions about it; every question waits for the answer before it.

use std::fmt::Write as _;
use std::time::Duration;

use super::dice::Dice;

/// Turns of a conversation.
pub(super) const TURNS: usize = 5;
const TENANTS: usize = 6;
const SYSTEM_BYTES: usize = 6_000;
const DOCUMENT_BYTES: usize = 10_000;
const QUESTION_BYTES: usize = 160;
/// Conversations begin evenly over this much time each.
const ARRIVAL_GAP: Duration = Duration::from_millis(80);
const THINK_MIN: Duration = Duration::from_millis(150);
const THINK_SPREAD: Duration = Duration::from_millis(300);

/// Everything that is said, and when.
#[derive(Debug)]
pub(super) struct Load {
    /// The system prompt of each tenant.
    pub(super) systems: Vec<String>,
    pub(super) conversations: Vec<Script>,
}

/// One user's part of a conversation.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) session: String,
    /// Index into [`Load::systems`].
    pub(super) tenant: usize,
    pub(super) document: String,
    pub(super) questions: Vec<Question>,
}

/// One question.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) text: String,
    /// From the answer before it, or from the beginning of the run.
    pub(super) pause: Duration,
}

impl Load {
    pub(super) fn new(seed: u64, conversations: usize) -> Self {
        let mut dice = Dice::new(seed);
        let systems = (1..=TENANTS)
            .map(|number| system(number, &mut dice))
            .collect();
        let window = ARRIVAL_GAP * u32::try_from(conversations).unwrap_or(u32::MAX);
        let conversations = (1..=conversations)
            .map(|number| script(number, window, &mut dice))
            .collect();
        Self {
            systems,
            conversations,
        }
    }
}

fn system(number: usize, dice: &mut Dice) -> String {
    lines(
        &format!("Handbook of tenant {number}. Answer from its rules alone."),
        SYSTEM_BYTES,
        dice,
    )
}

fn script(number: usize, window: Duration, dice: &mut Dice) -> Script {
    Script {
        session: format!("session-{number}"),
        tenant: dice.below(TENANTS),
        document: lines(&format!("Case file {number}."), DOCUMENT_BYTES, dice),
        questions: (1..=TURNS)
            .map(|turn| question(turn, window, dice))
            .collect(),
    }
}

fn question(turn: usize, window: Duration, dice: &mut Dice) -> Question {
    Question {
        text: lines(&format!("Question {turn}."), QUESTION_BYTES, dice),
        pause: match turn {
            1 => window.mul_f64(dice.share()),
            _ => THINK_MIN + THINK_SPREAD.mul_f64(dice.share()),
        },
    }
}

/// A heading and numbered lines of at least `bytes` bytes together.
fn lines(heading: &str, bytes: usize, dice: &mut Dice) -> String {
    let mut text = heading.to_owned();
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{number}.");
        for _ in 0..9 {
            let _ = write!(text, " {}", dice.pick(WORDS));
        }
    }
    text
}

const WORDS: &[&str] = &[
    "account", "after", "agent", "amount", "answer", "before", "carrier", "case", "clause",
    "contract", "date", "delivery", "device", "every", "form", "invoice", "letter", "limit",
    "machine", "month", "notice", "number", "order", "parcel", "payment", "person", "policy",
    "price", "receipt", "refund", "repair", "report", "return", "service", "station", "supplier",
    "ticket", "value", "warranty", "without", "written",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_load() {
        let (one, two) = (Load::new(3, 5), Load::new(3, 5));
        assert_eq!(format!("{one:?}"), format!("{two:?}"));
        assert_ne!(format!("{one:?}"), format!("{:?}", Load::new(4, 5)));
    }

    #[test]
    fn conversations_share_their_tenants_system_prompt_and_nothing_else() {
        let load = Load::new(1, 24);
        let documents: BTreeSet<_> = load
            .conversations
            .iter()
            .map(|script| &script.document)
            .collect();
        let systems: BTreeSet<_> = load.systems.iter().collect();
        let tenants: BTreeSet<_> = load
            .conversations
            .iter()
            .map(|script| script.tenant)
            .collect();
        assert_eq!((documents.len(), systems.len()), (24, TENANTS));
        assert!(tenants.len() > 1 && tenants.iter().all(|&tenant| tenant < TENANTS));
        assert!(load.systems.iter().all(|text| text.len() >= SYSTEM_BYTES));
        assert!(
            load.conversations
                .iter()
                .all(|script| script.questions.len() == TURNS)
        );
    }
}
