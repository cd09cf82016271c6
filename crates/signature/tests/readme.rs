//! The README's numbers: each is computed from those above it, and the crate gives the same.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

use headwater_signature::{AffinityKey, BlockSize, ParseErrorKind, Route, Rung, Scheme, Signature};

const README: &str = include_str!("../README.md");

#[test]
fn the_worked_example_can_be_redone_by_hand() {
    let seed_preimage = bytes(number("seed preimage"));
    let seed = blake3::derive_key("headwater prefix signature v1 seed", &seed_preimage);
    assert_eq!(hex(&seed), number("seed"));
    let fingerprint = blake3::derive_key("headwater prefix signature v1 fingerprint", &seed);
    assert_eq!(hex(&fingerprint[..8]), number("fingerprint"));
    let start = blake3::derive_key("headwater prefix signature v1 chain", &seed);
    assert_eq!(hex(&start), number("state 0"));
    for (block, next) in [(0, 1), (1, 2)] {
        let preimage = number(&format!("preimage {block}"));
        let parts = [
            number(&format!("state {block}")),
            number(&format!("block {block}")),
        ];
        assert_eq!(preimage, parts.concat());
        let state = hex(blake3::hash(&bytes(preimage)).as_bytes());
        assert_eq!(state, number(&format!("state {next}")));
        assert_eq!(state[..16], *number(&format!("hash {next}")));
    }
}

#[test]
fn the_crate_gives_the_worked_example() {
    let scheme = Scheme {
        tokenizer: "bytes",
        template: "none",
        cleaning: "1",
        block: BlockSize::new(3).unwrap(),
        add_special_tokens: false,
        model: "demo",
        salt: Some(b"0123456789abcdef"),
    };
    let seed = scheme.seed();
    assert_eq!(seed.fingerprint().to_string(), number("fingerprint"));
    let mut chain = seed.chain();
    chain.extend(&[1, 2, 3, 258, 65_536, 4_294_967_295, 7]);
    let hashes: Vec<String> = chain.hashes().iter().map(ToString::to_string).collect();
    assert_eq!(hashes, [number("hash 1"), number("hash 2")]);
    let rungs = [1, 2].map(|blocks| Rung {
        blocks,
        hash: chain.hashes()[blocks as usize - 1],
    });
    let signature = Signature::new(scheme.block, 7, seed.fingerprint(), &rungs, None).unwrap();
    assert_eq!(signature.to_string(), number("Prefix-Signature"));
    let affinity = AffinityKey::session(&seed, "chat-42");
    assert_eq!(affinity.to_string(), number("Prefix-Affinity"));
}

#[test]
fn every_header_it_shows_is_valid_and_canonical() {
    let mut shown = 0;
    for line in README.lines() {
        if let Some(text) = line.strip_prefix("Prefix-Route: ") {
            let route = Route::parse(text.as_bytes()).unwrap();
            assert_eq!(
                (route.to_string(), route.header()),
                (text.to_owned(), text.to_owned())
            );
            shown += 1;
        }
        let text = line.strip_prefix("Prefix-Signature: ").unwrap_or(line);
        if text.starts_with("v=") {
            let signature = Signature::parse(text.as_bytes()).unwrap().unwrap();
            assert_eq!(signature.to_string(), text);
            shown += 1;
        }
    }
    assert_eq!(shown, 4);
}

#[test]
fn every_kind_of_refusal_has_its_line() {
    use ParseErrorKind::*;
    let kinds = [
        TooLong,
        Syntax,
        DuplicateKey,
        TooManyKeys,
        MissingKey,
        WrongType,
        WrongBytes,
        OutOfRange,
        TooManyRungs,
        RungOrder,
        RungBeyondPrompt,
        HalfEcho,
    ];
    for kind in kinds {
        assert!(README.contains(&format!("| `{kind}` |")), "{kind}");
    }
}

/// What the README's worked example says of `name`.
fn number(name: &str) -> &'static str {
    let (_, example) = README.split_once("## Worked example").unwrap();
    let mut lines = example.lines().filter_map(|line| line.split_once(": "));
    lines
        .find(|(key, _)| *key == name)
        .unwrap_or_else(|| panic!("no line `{name}`"))
        .1
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}
