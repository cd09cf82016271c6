//! Signing with a `tokenizer.json`: same ids as the library, safe special tokens, sound seams.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use headwater::signature::BlockSize;
use headwater::{
    HfTokenizer, Prompt, Segment, SignOptions, SpecialTokens, Tokenize, TokenizeErrorKind, Tokens,
};
use proptest::prelude::*;

#[path = "support/tiny.rs"]
mod tiny;

const START: &str = "<|im_start|>";

fn tiny(special_tokens: SpecialTokens) -> HfTokenizer {
    HfTokenizer::from_json(tiny::tokenizer_json().as_bytes(), "tiny", special_tokens).unwrap()
}

/// What the library makes of a text, special tokens in it included.
fn reference(text: &str) -> Vec<u32> {
    let mut tokenizer = tokenizers::Tokenizer::from_bytes(tiny::tokenizer_json()).unwrap();
    tokenizer.with_truncation(None).unwrap().with_padding(None);
    tokenizer.encode(text, false).unwrap().get_ids().to_vec()
}

fn markers(text: &str) -> Vec<std::ops::Range<usize>> {
    text.match_indices(START)
        .map(|(at, marker)| at..at + marker.len())
        .collect()
}

fn encode(tokenizer: &HfTokenizer, text: &str) -> Tokens {
    tokenizer.encode(text, &markers(text)).unwrap()
}

#[test]
fn the_whole_text_is_encoded_as_the_library_does() {
    let tokenizer = tiny(SpecialTokens::Omitted);
    for text in [
        "",
        "the ferry",
        "<|im_start|>user\nthe  ferry.\n\n<|im_start|>",
        "é🙂 的e\u{301}",
    ] {
        assert_eq!(encode(&tokenizer, text).ids, reference(text), "{text:?}");
    }
}

#[test]
fn special_tokens_in_text_stay_text() {
    let tokenizer = tiny(SpecialTokens::Omitted);
    let text = "<|im_start|>user\nI say <|im_start|> and </s>";
    let tokens = tokenizer.encode(text, &markers(text)[..1]).unwrap();
    let control = reference(START)[0];
    assert_eq!(tokens.ids.iter().filter(|id| **id == control).count(), 1);
    assert!(!tokens.ids.contains(&reference("</s>")[0]));
}

#[test]
fn start_and_end_tokens_only_when_asked_for() {
    let (with, without) = (tiny(SpecialTokens::Added), tiny(SpecialTokens::Omitted));
    let (with_ids, ids) = (encode(&with, "the ferry"), encode(&without, "the ferry"));
    let expected = [reference("<s>"), ids.ids.clone(), reference("</s>")].concat();
    assert_eq!(with_ids.ids, expected);
    assert_eq!(
        (with_ids.before(0), with_ids.before(9)),
        (1, ids.ids.len() + 1)
    );
    let fingerprint = |tokenizer: &HfTokenizer| {
        let prompt = Prompt::builder().dynamic("x").build().unwrap();
        prompt
            .sign(tokenizer, &SignOptions::default())
            .unwrap()
            .signature()
            .fingerprint()
    };
    assert_ne!(fingerprint(&with), fingerprint(&without));
}

#[test]
fn the_identity_is_the_content_of_the_file() {
    let json = tiny::tokenizer_json();
    let identity = |json: &str| {
        HfTokenizer::from_json(json.as_bytes(), "x", SpecialTokens::Omitted)
            .unwrap()
            .identity()
    };
    assert_eq!(identity(&json), identity(&json));
    assert_ne!(identity(&json), identity(&format!("{json} ")));
    assert!(identity(&json).starts_with("hf/1 tokenizers=0.23.2 regex=onig blake3="));
}

#[test]
fn broken_files_are_named() {
    let check = |json: &[u8], kind, start: &str| {
        let error = HfTokenizer::from_json(json, "a/b.json", SpecialTokens::Omitted).unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.to_string().starts_with(start), "{error}");
    };
    check(
        b"{",
        TokenizeErrorKind::Broken,
        "`a/b.json` is not a tokenizer: ",
    );
    check(
        b"\xFF",
        TokenizeErrorKind::Broken,
        "`a/b.json` is not a tokenizer: ",
    );
    let large = vec![0; usize::try_from(HfTokenizer::MAX_FILE_BYTES).unwrap() + 1];
    check(
        &large,
        TokenizeErrorKind::TooLarge,
        "the tokenizer file `a/b.json` is over ",
    );
    let missing =
        HfTokenizer::from_file("no/such.json".as_ref(), SpecialTokens::Omitted).unwrap_err();
    assert_eq!(missing.kind, TokenizeErrorKind::Unreadable);
    assert!(missing.to_string().contains("`no/such.json`"));
}

/// Rungs with one token a block: every border shows.
fn rungs(tokenizer: &HfTokenizer, prompt: &Prompt) -> Vec<(u32, String)> {
    let options = SignOptions {
        block: BlockSize::new(1).unwrap(),
        ..Default::default()
    };
    let signed = prompt.sign(tokenizer, &options).unwrap();
    signed
        .signature()
        .rungs()
        .iter()
        .map(|rung| (rung.blocks, rung.hash.to_string()))
        .collect()
}

#[test]
fn a_token_that_a_continuation_can_take_is_not_promised() {
    let tokenizer = tiny(SpecialTokens::Omitted);
    // "in:" and a line end merge to one token behind the colon, so the colon is not safe.
    let stable = |text: &str| {
        let prompt = Prompt::builder()
            .static_(Segment::new(text).verbatim())
            .dynamic("\nx and more")
            .build()
            .unwrap();
        let all = u32::try_from(reference(text).len()).unwrap();
        let promised: Vec<u32> = rungs(&tokenizer, &prompt)
            .into_iter()
            .map(|rung| rung.0)
            .collect();
        (promised.contains(&all), promised.contains(&(all - 1)))
    };
    assert_eq!(stable("one two three four five six in:"), (false, true));
    assert_eq!(
        stable("one two three four five six ferry.\n!"),
        (true, false)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn ends_rise_and_count_the_text(text in "[a-c the.\n🙂é]{0,60}") {
        let tokens = encode(tiny_once(), &text);
        prop_assert_eq!(tokens.ids.len(), tokens.ends.len());
        prop_assert!(tokens.ends.iter().is_sorted());
        prop_assert!(tokens.ends.last().is_none_or(|end| end == text.len()));
    }

    #[test]
    fn ids_are_those_of_the_library(text in "[a-c the.:\n🙂é12]{0,60}(<\\|im_start\\|>[a-c the.\n]{0,30}){0,3}") {
        prop_assert_eq!(encode(tiny_once(), &text).ids, reference(&text));
    }

    #[test]
    fn a_shared_static_part_shares_its_rung(
        text in "[a-c the]{20,60}", a in "[a-c the.\n]{20,40}", b in "[a-c the.\n]{20,40}",
    ) {
        let tokenizer = tiny_once();
        let rungs = |question: &str| {
            let prompt = Prompt::builder().static_(text.as_str()).dynamic(question).build().unwrap();
            rungs(tokenizer, &prompt)
        };
        // The static part ends in a line end, which is safe unless another one follows.
        prop_assume!(!a.starts_with('\n') && !b.starts_with('\n'));
        let (a, b) = (rungs(&a), rungs(&b));
        let (static_end, hash) = a.iter().rev().find(|rung| b.contains(rung)).cloned().unwrap_or_default();
        let tokens = reference(&headwater::text::clean(&text, headwater::text::Profile::Strict).unwrap().text).len();
        prop_assert!(static_end as usize + 2 >= tokens, "{} of {} ({})", static_end, tokens, hash);
    }
}

fn tiny_once() -> &'static HfTokenizer {
    static TINY: std::sync::OnceLock<HfTokenizer> = std::sync::OnceLock::new();
    TINY.get_or_init(|| tiny(SpecialTokens::Omitted))
}

#[test]
fn a_second_start_token_is_refused() {
    let sign = |special_tokens, text: &str| {
        let prompt = Prompt::builder()
            .static_(text)
            .dynamic("x")
            .build()
            .unwrap();
        prompt.sign(&tiny(special_tokens), &SignOptions::default())
    };
    let error = sign(SpecialTokens::Added, "<s>the ferry").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the prompt begins with `<s>`, and the tokenizer would add `<s>` in front of it; \
         sign with `SpecialTokens::Omitted`, or take the token out of the text"
    );
    assert!(sign(SpecialTokens::Omitted, "<s>the ferry").is_ok());
    assert!(sign(SpecialTokens::Added, "the <s>").is_ok());
}
