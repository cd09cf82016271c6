//! A growing conversation against signing the same chat from scratch, on made-up conversations.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::sync::{Arc, LazyLock};

use headwater::signature::BlockSize;
use headwater::{
    AffinityMode, Align, BytesTokenizer, Chat, HfTokenizer, Media, MediaDigest, Prepared,
    SignOptions, SignedPrompt, SpecialTokens, Tokenize, ToolCall, Turn, assert_extends,
};
use proptest::prelude::*;

#[path = "support/tiny.rs"]
mod tiny;

type Shared = Arc<dyn Tokenize + Send + Sync>;

/// Every kind of tokenizer: none, with markers, with markers and end tokens, without markers.
static TOKENIZERS: LazyLock<Vec<Shared>> = LazyLock::new(|| {
    let json = tiny::tokenizer_json();
    let hf = |json: &str, special| -> Shared {
        Arc::new(HfTokenizer::from_json(json.as_bytes(), "tiny", special).unwrap())
    };
    let unmarked = json.replace("<|im_", "<|em_");
    vec![
        Arc::new(BytesTokenizer),
        hf(&json, SpecialTokens::Omitted),
        hf(&json, SpecialTokens::Added),
        hf(&unmarked, SpecialTokens::Omitted),
        hf(&unmarked, SpecialTokens::Added),
    ]
});

fn text() -> impl Strategy<Value = String> {
    "[a-c the.:\n\r 🙂é12]{0,90}"
}

fn turn() -> impl Strategy<Value = Turn> {
    let user = (
        text(),
        prop::option::of(text()),
        prop::option::of(any::<u8>()),
    );
    let user = user.prop_map(|(text, fact, image)| {
        let mut turn = Turn::user(text);
        if let Some(fact) = fact {
            turn = turn.fact("now", fact);
        }
        if let Some(image) = image {
            let url = format!("https://example.com/{image}");
            turn = turn
                .media(Media::image(MediaDigest::of(&[image]), url))
                .text("?");
        }
        Turn::from(turn)
    });
    let assistant = (text(), prop::option::of("[ a-z{}:\"]{0,20}")).prop_map(|(text, call)| {
        let mut turn = Turn::assistant(text);
        if let Some(arguments) = call {
            turn = turn.call(ToolCall {
                id: "call_1".into(),
                name: "tide".into(),
                arguments,
                ..ToolCall::default()
            });
        }
        Turn::from(turn)
    });
    let tool = text().prop_map(|text| Turn::tool("call_1", text).into());
    prop_oneof![user, assistant, tool]
}

prop_compose! {
    fn head()(
        system in prop::collection::vec(text(), 0..3),
        example in prop::option::of((text(), text())),
        tenant in prop::option::of(text()),
    ) -> Chat {
        let mut chat = Chat::new();
        for text in system {
            chat = chat.system(text);
        }
        if let Some((user, assistant)) = example {
            chat = chat.example(user, assistant);
        }
        if let Some(tenant) = tenant {
            chat = chat.semi_static(tenant);
        }
        chat
    }
}

prop_compose! {
    fn options()(
        block in 1_u32..20,
        session in prop::option::of("[a-z]{1,4}"),
        affinity in prop_oneof![Just(AffinityMode::Auto), Just(AffinityMode::Session), Just(AffinityMode::Static)],
        align in prop_oneof![3 => Just(Align::Off), 1 => Just(Align::Newlines)],
    ) -> SignOptions {
        SignOptions {
            block: BlockSize::new(block).unwrap(),
            session,
            affinity,
            align,
            ..SignOptions::default()
        }
    }
}

/// From scratch.
fn sign(head: &Chat, turns: &[Turn], tokenizer: &Shared, options: &SignOptions) -> SignedPrompt {
    let chat = turns.iter().cloned().fold(head.clone(), Chat::turn);
    chat.prompt().unwrap().sign(tokenizer, options).unwrap()
}

fn same(grown: &SignedPrompt, scratch: &SignedPrompt) {
    assert_eq!(grown.text(), scratch.text());
    assert_eq!(grown.headers(), scratch.headers());
    assert_eq!(grown.messages(), scratch.messages());
    assert_eq!(grown.tokens(), scratch.tokens());
    let changes = |signed: &SignedPrompt| format!("{:?}{:?}", signed.changes(), signed.warnings());
    assert_eq!(changes(grown), changes(scratch));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn growing_is_signing_from_scratch(
        head in head(),
        given in 0_usize..3,
        turns in prop::collection::vec((turn(), any::<bool>(), any::<bool>()), 3..8),
        options in options(),
        tokenizer in 0..TOKENIZERS.len(),
    ) {
        {
            let tokenizer = &TOKENIZERS[tokenizer];
            let all: Vec<Turn> = turns.iter().map(|(turn, ..)| turn.clone()).collect();
            let start = all[..given].iter().cloned().fold(head.clone(), Chat::turn);
            let Ok(prepared) = Prepared::new(start, Arc::clone(tokenizer), options.clone()) else {
                prop_assert!(given == 0 && head.prompt().is_err());
                return Ok(());
            };
            let mut talk = prepared.conversation();
            let mut held = Vec::new();
            for (count, (turn, sign_now, hold)) in turns.iter().enumerate().skip(given) {
                talk.push(turn.clone()).unwrap();
                if *sign_now {
                    let grown = talk.sign().unwrap();
                    same(&grown, &sign(&head, &all[..=count], tokenizer, &options));
                    if *hold {
                        held.push((count, grown));
                    }
                }
            }
            // What was signed before is still what it was, and the start of what comes after.
            let last = talk.sign().unwrap();
            for (count, grown) in held {
                same(&grown, &sign(&head, &all[..=count], tokenizer, &options));
                prop_assert_eq!(assert_extends(&grown, &last), Ok(()));
            }
        }
    }

    #[test]
    fn a_changed_history_is_the_chat_that_it_reads(
        head in head(),
        given in 0_usize..2,
        turns in prop::collection::vec(turn(), 2..7),
        summary in prop::option::of(turn()),
        (from, to) in (0_usize..7, 0_usize..7),
        more in turn(),
        options in options(),
        tokenizer in 0..TOKENIZERS.len(),
    ) {
        let (from, to) = (from.min(turns.len()), to.min(turns.len()));
        prop_assume!(from <= to && head.prompt().is_ok());
        {
            let tokenizer = &TOKENIZERS[tokenizer];
            let start = turns[..given].iter().cloned().fold(head.clone(), Chat::turn);
            let prepared = Prepared::new(start, Arc::clone(tokenizer), options.clone()).unwrap();
            let mut talk = prepared.conversation();
            for turn in &turns[given..] {
                talk.push(turn.clone()).unwrap();
            }
            let before = talk.sign().unwrap();
            let mut expected = turns.clone();
            let cost = match &summary {
                Some(summary) => {
                    expected.splice(from..to, [summary.clone()]);
                    talk.compact(from..to, summary.clone()).unwrap()
                }
                None => {
                    expected.drain(from..to);
                    talk.drop_turns(from..to).unwrap()
                }
            };
            let after = sign(&head, &expected, tokenizer, &options);
            prop_assert_eq!(cost.kept_tokens + cost.lost_tokens, before.tokens());
            prop_assert_eq!(cost.kept_tokens + cost.new_tokens, after.tokens());
            // A name is lost or is still a name of that many tokens.
            for rung in before.signature().rungs() {
                let same = after.signature().rungs().iter().find(|other| other.blocks == rung.blocks);
                if let Some(other) = same {
                    prop_assert_eq!(cost.lost.contains(rung), other != rung, "at {}", rung.blocks);
                }
            }
            same(&talk.sign().unwrap(), &after);
            talk.push(more.clone()).unwrap();
            expected.push(more.clone());
            same(&talk.sign().unwrap(), &sign(&head, &expected, tokenizer, &options));
        }
    }

    #[test]
    fn what_is_changed_ahead_is_found(
        head in head(),
        turns in prop::collection::vec(turn(), 1..5),
        place in 0_usize..5,
        other in turn(),
    ) {
        let place = place.min(turns.len() - 1);
        let mut changed = turns.clone();
        changed[place] = other;
        let tokenizer: Shared = Arc::new(BytesTokenizer);
        let options = SignOptions::default();
        let (one, two) = (sign(&head, &turns, &tokenizer, &options), sign(&head, &changed, &tokenizer, &options));
        let end = one.text().rfind("<|im_start|>assistant\n").unwrap();
        match assert_extends(&one, &two) {
            Ok(()) => prop_assert_eq!(&one.text()[..end], &two.text()[..end]),
            Err(divergence) => {
                let byte = divergence.byte;
                prop_assert_eq!(&one.text()[..byte], &two.text()[..byte]);
                prop_assert_ne!(one.text()[byte..end].chars().next(), two.text()[byte..].chars().next());
                prop_assert!(divergence.segment.is_some());
            }
        }
    }
}
