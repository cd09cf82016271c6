//! Cut, cached and encoded in parallel, a text has the tokens that the library gives it whole.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::OnceLock;

use headwater::{ControlText, HfTokenizer, Seam, SpecialTokens, Tokenize};
use proptest::prelude::*;

#[path = "support/kinds.rs"]
mod kinds;
#[path = "support/tiny.rs"]
#[expect(dead_code, reason = "only its alphabet is needed here")]
mod tiny;

use kinds::Kind;

/// One vocabulary in all the ways that must agree.
struct Case {
    kind: Kind,
    library: tokenizers::Tokenizer,
    plain: HfTokenizer,
    control: HfTokenizer,
    without_cache: HfTokenizer,
    controls: BTreeSet<u32>,
}

impl Case {
    fn new(kind: Kind) -> Self {
        let ours = || {
            HfTokenizer::from_json(kind.json.as_bytes(), kind.name, SpecialTokens::Omitted).unwrap()
        };
        let mut json: serde_json::Value = serde_json::from_str(&kind.json).unwrap();
        if json["model"]["type"] == "BPE" {
            json["model"]["dropout"] = serde_json::Value::Null;
        }
        let library = tokenizers::Tokenizer::from_bytes(json.to_string()).unwrap();
        let controls = kind
            .controls
            .iter()
            .map(|text| library.token_to_id(text).unwrap());
        Self {
            controls: controls.collect(),
            plain: ours(),
            control: ours().control_text(ControlText::Control),
            without_cache: ours().cache_bytes(0).threads(NonZeroUsize::new(4).unwrap()),
            library,
            kind,
        }
    }

    fn whole(&self, text: &str) -> Vec<u32> {
        self.library.encode(text, false).unwrap().get_ids().to_vec()
    }

    /// The text of a prompt whose pieces are picked by number, and its markers.
    fn write(&self, pieces: &[Piece]) -> (String, Vec<Range<usize>>) {
        let mut text = String::new();
        let mut markers = Vec::new();
        for piece in pieces {
            let start = text.len();
            match piece {
                Piece::Text(words) => text.push_str(words),
                Piece::Spelled(pick, keep) => {
                    let control = self.control(*pick);
                    text.push_str(&control[..control.len().min(*keep)]);
                }
                Piece::Marker(pick) => {
                    text.push_str(self.control(*pick));
                    markers.push(start..text.len());
                }
            }
        }
        (text, markers)
    }

    fn control(&self, pick: usize) -> &'static str {
        self.kind.controls[pick % self.kind.controls.len()]
    }
}

fn cases() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| kinds::all().into_iter().map(Case::new).collect())
}

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    /// The beginning of a control token, or all of it, as text.
    Spelled(usize, usize),
    Marker(usize),
}

/// Words, digits, blanks and line ends in runs, other scripts, an emoji, marks that combine with
/// what is before them (U+0338 makes one character of it and `<` or `>`).
fn text() -> impl Strategy<Value = Piece> {
    let word = prop::sample::select(vec![
        "the",
        " ferry",
        "fer",
        "ry",
        "12",
        ".",
        ":",
        "::",
        " ",
        "   ",
        "\n",
        "\n\n\n\n\n",
        "\t",
        "的",
        "é",
        "e\u{301}",
        "\u{338}",
        "🙂",
        "\u{200D}",
        "a",
        "b",
        "ﬁ",
        "_",
        "\u{a0}",
    ]);
    prop::collection::vec(word, 0..8).prop_map(|words| Piece::Text(words.concat()))
}

fn marker() -> impl Strategy<Value = Piece> {
    (0_usize..9).prop_map(Piece::Marker)
}

fn spelled() -> impl Strategy<Value = Piece> {
    (0_usize..9, 1_usize..14).prop_map(|(pick, keep)| Piece::Spelled(pick, keep))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn without_control_tokens_in_text_nothing_differs(pieces in prop::collection::vec(prop_oneof![text(), marker()], 0..9)) {
        for case in cases() {
            let (text, markers) = case.write(&pieces);
            let whole = case.whole(&text);
            for ours in [&case.plain, &case.control, &case.without_cache, &case.plain] {
                let tokens = ours.encode(&text, &markers).unwrap();
                prop_assert_eq!(&tokens.ids, &whole, "{} {:?}", case.kind.name, &text);
            }
        }
    }

    #[test]
    fn with_them_nothing_differs_when_asked_for(
        pieces in prop::collection::vec(prop_oneof![text(), marker(), spelled()], 0..9),
    ) {
        for case in cases() {
            let (text, markers) = case.write(&pieces);
            for _ in 0..2 {
                let tokens = case.control.encode(&text, &markers).unwrap();
                prop_assert_eq!(&tokens.ids, &case.whole(&text), "{} {:?}", case.kind.name, &text);
            }
        }
    }

    #[test]
    fn text_never_becomes_control(pieces in prop::collection::vec(prop_oneof![text(), marker(), spelled()], 0..9)) {
        for case in cases() {
            let (text, markers) = case.write(&pieces);
            let tokens = case.plain.encode(&text, &markers).unwrap();
            let ids: Vec<u32> = tokens.ids.iter().copied().filter(|id| case.controls.contains(id)).collect();
            let mut meant = markers.iter().map(|marker| case.library.token_to_id(&text[marker.clone()]).unwrap());
            if case.kind.name == "odd" {
                // A file may say that a token counts only as a word of its own, so some are missing.
                prop_assert!(ids.iter().all(|id| meant.any(|other| other == *id)), "{:?}", &text);
            } else {
                prop_assert_eq!(ids, meant.collect::<Vec<_>>(), "{} {:?}", case.kind.name, &text);
            }
            prop_assert_eq!(tokens.ids.len(), tokens.ends.len());
            prop_assert!(tokens.ends.iter().is_sorted() && tokens.ends.last().is_none_or(|end| end <= text.len()));
        }
    }
}

#[test]
fn the_models_own_pieces_cannot_be_spelled_either() {
    let mut seen = 0;
    for case in cases() {
        for text in case
            .kind
            .controls
            .iter()
            .map(|control| format!("the {control} {control}{control}"))
        {
            seen += usize::from(
                case.whole(&text)
                    .iter()
                    .any(|id| case.controls.contains(id)),
            );
            let ids = case.plain.encode(&text, &[]).unwrap().ids;
            assert!(
                !ids.iter().any(|id| case.controls.contains(id)),
                "{} {text:?}",
                case.kind.name
            );
        }
    }
    assert!(
        seen > 20,
        "the library takes them for control tokens, or this test proves nothing"
    );
}

#[test]
fn a_tag_that_is_not_called_special_is_switched_off_in_text_too() {
    let case = cases()
        .iter()
        .find(|case| case.kind.name == "byte-level")
        .unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&case.kind.json).unwrap();
    json["model"]["dropout"] = serde_json::Value::Null;
    let added = json["added_tokens"].as_array_mut().unwrap();
    added.retain(|token| token["content"] != "<think>");
    let without = tokenizers::Tokenizer::from_bytes(json.to_string()).unwrap();
    let expected = without.encode("the <think> ferry", false).unwrap();
    let tokens = case.plain.encode("the <think> ferry", &[]).unwrap();
    assert_eq!(tokens.ids, expected.get_ids());
}

#[test]
fn unknown_characters_stay_whole() {
    for case in cases() {
        let Some(unknown) = case
            .kind
            .unknown
            .and_then(|text| case.library.token_to_id(text))
        else {
            continue;
        };
        let ids = case.plain.encode("the 🙂🙂 ferry", &[]).unwrap().ids;
        assert_eq!(
            ids.iter().filter(|id| **id == unknown).count(),
            1,
            "{}",
            case.kind.name
        );
    }
}

#[test]
fn a_file_says_where_it_can_be_cut() {
    for case in cases() {
        for control in case.kind.controls {
            let odd = ["<l>", "<r>", "<w>", "<n>"].contains(control);
            let expected = if odd { Seam::Probe } else { Seam::Exact };
            assert_eq!(
                case.plain.seam(Some(control)),
                expected,
                "{} {control}",
                case.kind.name
            );
        }
        assert_eq!(case.plain.seam(Some("the")), Seam::Probe);
    }
}

#[test]
fn many_threads_and_many_callers_agree() {
    let text: String = (0..120)
        .map(|n| {
            format!(
                "<|im_start|>the ferry {n} 🙂 {}</s>",
                "the ferry. ".repeat(n % 40)
            )
        })
        .collect();
    let markers: Vec<_> = ["<|im_start|>", "</s>"]
        .iter()
        .flat_map(|marker| text.match_indices(marker))
        .collect();
    let mut markers: Vec<_> = markers
        .iter()
        .map(|(at, marker)| *at..at + marker.len())
        .collect();
    markers.sort_by_key(|marker| marker.start);
    for case in cases()
        .iter()
        .filter(|case| case.kind.controls.contains(&"</s>"))
    {
        let whole = case.whole(&text);
        let once = case.without_cache.encode(&text, &markers).unwrap();
        assert_eq!(once.ids, whole, "{}", case.kind.name);
        std::thread::scope(|scope| {
            let call = || case.plain.encode(&text, &markers).unwrap();
            let calls: Vec<_> = (0..4).map(|_| scope.spawn(call)).collect();
            for call in calls {
                assert_eq!(call.join().unwrap(), once, "{}", case.kind.name);
            }
        });
    }
}

#[test]
fn one_value_serves_all_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<HfTokenizer>();
}
