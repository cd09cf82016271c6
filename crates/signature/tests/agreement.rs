//! Any text at all: what the strict parser says of it agrees with `sfv`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

use headwater_signature::{
    BlockSize, Fingerprint, PrefixHash, RouteEcho, RouteTag, Rung, Signature,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

mod oracle;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_on_arbitrary_bytes(header in vec(any::<u8>(), 0..80)) {
        oracle::check_signature(&header);
        oracle::check_route(&header);
    }

    #[test]
    fn agrees_on_text_made_of_the_grammars_letters(header in vec(select(LETTERS), 0..40)) {
        oracle::check_signature(header.concat().as_bytes());
        oracle::check_route(header.concat().as_bytes());
    }

    #[test]
    fn agrees_on_dictionaries_of_any_values(
        members in vec((select(KEYS), member_value()), 0..8),
        separator in select(&[",", ", ", " ,\t"]),
    ) {
        let members: Vec<String> = members.iter().map(|(key, value)| format!("{key}{value}")).collect();
        oracle::check_signature(members.join(separator).as_bytes());
        oracle::check_route(members.join(separator).as_bytes());
    }

    #[test]
    fn agrees_on_damaged_signatures(
        signature in signature(),
        edits in vec((any::<Index>(), select(LETTERS), 0..4_usize), 0..4),
    ) {
        oracle::check_signature(damaged(&signature.to_string(), &edits).as_bytes());
    }

    #[test]
    fn agrees_on_damaged_routes(edits in vec((any::<Index>(), select(LETTERS), 0..4_usize), 0..4)) {
        oracle::check_route(damaged("w=:b2xkLg==:, matched=2416, reason=resident", &edits).as_bytes());
    }

    #[test]
    fn a_signature_comes_back_from_its_text(signature in signature()) {
        oracle::check_signature(signature.to_string().as_bytes());
        prop_assert_eq!(Signature::parse(signature.to_string().as_bytes()), Ok(Some(signature)));
    }
}

/// Pieces that mean something to the grammar, and some that mean something to nobody.
const LETTERS: &[&str] = &[
    "v",
    "b",
    "n",
    "fp",
    "r",
    "w",
    "wn",
    "h",
    "=",
    ",",
    ", ",
    ";",
    " ",
    "\t",
    "(",
    ")",
    ":",
    "\"",
    "\\",
    "%",
    "%\"",
    "%c3%a9",
    "%ff",
    "?1",
    "?",
    "@",
    "-",
    ".",
    "0",
    "1",
    "16",
    "999999999999999",
    "v=1",
    "r=()",
    "b=16",
    "n=0",
    "fp=:q83vASNFZ4k=:",
    "A",
    "AAAA",
    "==",
    "*",
    "/",
    "_",
    "matched",
    "reason",
    "\u{0}",
    "\u{7f}",
    "é",
];

const KEYS: &[&str] = &[
    "v", "b", "n", "fp", "r", "w", "wn", "x", "y", "*z", "matched", "reason",
];

fn member_value() -> impl Strategy<Value = String> {
    let list = vec((bare_item(), parameters()), 0..4).prop_map(|items| {
        let items: Vec<String> = items
            .iter()
            .map(|(item, parameters)| format!("{item}{parameters}"))
            .collect();
        format!("({})", items.join(" "))
    });
    let value = prop_oneof![bare_item(), list].prop_map(|value| format!("={value}"));
    (
        prop_oneof![9 => value, 1 => Just(String::new())],
        parameters(),
    )
        .prop_map(|(value, parameters)| value + &parameters)
}

fn parameters() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just(String::new()),
        bare_item().prop_map(|item| format!("={item}"))
    ];
    vec((select(&["h", "x", " h"]), value), 0..3).prop_map(|list| {
        list.iter()
            .map(|(key, value)| format!(";{key}{value}"))
            .collect()
    })
}

fn bare_item() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[0-9]{1,16}",
        "[0-9]{1,13}\\.[0-9]{1,4}",
        "\"[ -~]{0,6}\"",
        "[A-Za-z*][A-Za-z0-9:/!#$%&'*+.^_`|~-]{0,6}",
        ":[A-Za-z0-9+/]{0,13}={0,3}:",
        ":[A-Za-z0-9+/]{10}[AEIMQUYcgkosw048]=:",
        "\\?[0-2]",
        "@-?[0-9]{1,12}",
        "%\"([ -~]|%[0-9a-f]{2}){0,4}\"",
        Just("1".to_owned()),
    ]
}

fn signature() -> impl Strategy<Value = Signature> {
    let rung = (1..100_u32, any::<[u8; 8]>());
    let echo = proptest::option::of((any::<[u8; 4]>(), any::<u32>()));
    (
        1..=1_000_u32,
        any::<[u8; 8]>(),
        vec(rung, 0..=16),
        echo,
        any::<bool>(),
    )
        .prop_map(|(block, fingerprint, steps, echo, length_known)| {
            let mut blocks = 0;
            let rungs: Vec<Rung> = steps
                .iter()
                .map(|(step, hash)| {
                    blocks += step;
                    Rung {
                        blocks,
                        hash: PrefixHash::from_bytes(*hash),
                    }
                })
                .collect();
            let tokens = if length_known {
                blocks * block + block / 2
            } else {
                0
            };
            let echo = echo.map(|(tag, tokens)| RouteEcho {
                tag: RouteTag::from_bytes(tag),
                tokens,
            });
            let block = BlockSize::new(block).unwrap();
            Signature::new(
                block,
                tokens,
                Fingerprint::from_bytes(fingerprint),
                &rungs,
                echo,
            )
            .unwrap()
        })
}

/// Applies each edit at its place: inserts a piece, deletes a byte, replaces a byte by a piece, or
/// repeats the rest of the text from there.
fn damaged(text: &str, edits: &[(Index, &str, usize)]) -> String {
    edits
        .iter()
        .fold(text.to_owned(), |text, (place, piece, kind)| {
            let mut at = place.index(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let (head, tail) = text.split_at(at);
            let mut rest = tail.chars();
            let first = rest.next();
            match (kind, first) {
                (0, _) | (_, None) => format!("{head}{piece}{tail}"),
                (1, _) => format!("{head}{}", rest.as_str()),
                (2, _) => format!("{head}{piece}{}", rest.as_str()),
                _ => format!("{head}{tail}{piece}{tail}"),
            }
        })
}
