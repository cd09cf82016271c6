//! What the end of a static text is worth, on a small vocabulary with the effects of large ones.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use headwater::{HfTokenizer, SpecialTokens, TextEnd, Tokenize, seam_risk};

#[path = "support/kinds.rs"]
#[expect(dead_code, reason = "only one of the vocabularies is needed here")]
mod kinds;
#[path = "support/tiny.rs"]
#[expect(dead_code, reason = "only its alphabet is needed here")]
mod tiny;

fn tokenizer() -> HfTokenizer {
    let json = kinds::byte_level().to_string();
    HfTokenizer::from_json(json.as_bytes(), "tiny", SpecialTokens::Omitted).unwrap()
}

#[test]
fn what_follows_takes_the_last_token() {
    let tokenizer = tokenizer();
    let check = |text: &str, next: &[&str], lost: usize| {
        for next in next {
            let ids = |text: &str| tokenizer.encode(text, &[]).unwrap().ids;
            let (before, after) = (ids(text), ids(&format!("{text}{next}")));
            let common = before
                .iter()
                .zip(&after)
                .take_while(|(a, b)| a == b)
                .count();
            assert_eq!(before.len() - common, lost, "{text:?} + {next:?}");
            let risk = seam_risk(&tokenizer, text).unwrap();
            assert!(risk.stable <= common, "{text:?} + {next:?}: {risk:?}");
        }
    };
    check("Answer:", &[" hello", "hello", "'s"], 0);
    check("Answer:", &["\nhello", "\n\nhello", ":"], 1);
    check("the question.\n", &["hi", " hi"], 0);
    check("the question.\n", &["\nhi"], 1);
    check("the question.\n\n", &["hi", " hi"], 0);
    check("the question.\n\n", &["\nhi"], 1);
    check("the question. ", &["hi", "\nhi"], 1);
    check("the question. ", &[" hi"], 0);
    check("List:   ", &["hi", "\nhi"], 1);
    check("the ferry went", &["ax"], 1);
    check("the ferry", &[" hi", ".", "\n"], 0);
}

#[test]
fn the_end_of_a_text_is_judged_without_what_follows() {
    let tokenizer = tokenizer();
    let check = |text: &str, at_risk, ending: TextEnd| {
        let risk = seam_risk(&tokenizer, text).unwrap();
        let tokens = tokenizer.encode(text, &[]).unwrap().ids.len();
        assert_eq!(
            (risk.tokens, risk.at_risk(), risk.ending),
            (tokens, at_risk, ending),
            "{text:?}"
        );
    };
    check("Answer:", 1, TextEnd::Other);
    check("the question.\n", 1, TextEnd::Line);
    check("the question. ", 1, TextEnd::Blank);
    check("List:   ", 1, TextEnd::Blank);
    check("the ferry went", 1, TextEnd::Word);
    // A mark can still settle on the last letter, and this vocabulary would join the two.
    check("the ferry", 1, TextEnd::Word);
    check("(the ferry)", 0, TextEnd::Other);
    check("", 0, TextEnd::Other);
    // The same behind more text than one window of probing.
    check(
        &format!("{}List:   ", "the ferry.\n".repeat(200)),
        1,
        TextEnd::Blank,
    );
}
