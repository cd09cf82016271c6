//! What must hold for every JSON text, checked on made-up documents and on noise.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

use std::collections::BTreeMap;

use headwater::json::{self, Style, canonical, parse};
use proptest::prelude::*;

#[path = "support/json_oracle.rs"]
mod oracle;

use oracle::Reading;

/// Prints a document in one of the many ways to print it, and can plant a fault.
struct Scribe {
    /// Decides key order, white space and escapes.
    dice: u64,
    out: String,
    /// Keys and indices down to the value being printed, escaped for a pointer.
    path: Vec<String>,
    plant: Option<Plant>,
}

/// Replace the value that is printed after `after` others.
struct Plant {
    after: usize,
    text: &'static str,
    /// Where it went: pointer and byte.
    place: Option<(String, usize)>,
}

impl Scribe {
    fn new(dice: u64, plant: Option<(usize, &'static str)>) -> Self {
        Self {
            dice,
            out: String::new(),
            path: Vec::new(),
            plant: plant.map(|(after, text)| Plant {
                after,
                text,
                place: None,
            }),
        }
    }

    fn print(document: &Reading, dice: u64) -> String {
        let mut scribe = Self::new(dice, None);
        scribe.value(document);
        scribe.out
    }

    fn throw(&mut self, sides: usize) -> usize {
        // The constants of Knuth's MMIX; the upper bits are the good ones.
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.dice >> 33).unwrap() % sides
    }

    fn space(&mut self) {
        let space = ["", "", "", " ", "\n", "\t", "\r\n  "][self.throw(7)];
        self.out.push_str(space);
    }

    fn value(&mut self, reading: &Reading) {
        self.space();
        if self.planted() {
            return;
        }
        match reading {
            Reading::Word(text) | Reading::Number(text) => self.out.push_str(text),
            Reading::Text(text) => self.string(text),
            Reading::List(elements) => {
                self.out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    self.out.push_str(if index == 0 { "" } else { "," });
                    self.inside(index.to_string(), element);
                }
                self.space();
                self.out.push(']');
            }
            Reading::Map(members) => self.map(members),
        }
        self.space();
    }

    fn map(&mut self, members: &BTreeMap<String, Reading>) {
        let mut rest: Vec<_> = members.iter().collect();
        self.out.push('{');
        while !rest.is_empty() {
            let (key, value) = rest.swap_remove(self.throw(rest.len()));
            self.space();
            self.string(key);
            self.space();
            self.out.push(':');
            self.inside(key.replace('~', "~0").replace('/', "~1"), value);
            self.out.push_str(if rest.is_empty() { "" } else { "," });
        }
        self.space();
        self.out.push('}');
    }

    fn inside(&mut self, step: String, value: &Reading) {
        self.path.push(step);
        self.value(value);
        self.path.pop();
    }

    fn planted(&mut self) -> bool {
        let Some(plant) = &mut self.plant else {
            return false;
        };
        if plant.place.is_some() {
            return false;
        }
        if plant.after > 0 {
            plant.after -= 1;
            return false;
        }
        let pointer: String = self.path.iter().flat_map(|step| ["/", step]).collect();
        plant.place = Some((pointer, self.out.len()));
        self.out.push_str(plant.text);
        true
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            let must = matches!(character, '"' | '\\' | '\0'..='\u{1F}');
            if must || self.throw(4) == 0 {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    self.out.push_str(&format!("\\u{unit:04X}"));
                }
            } else {
                self.out.push(character);
            }
        }
        self.out.push('"');
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,2}",
        "[a~/01\"\\\\\n\u{0}\u{1f}\u{7f} é\u{e000}\u{fffd}\u{1f600}]{0,4}",
        ".{0,6}",
    ]
}

fn document() -> impl Strategy<Value = Reading> {
    let leaf = prop_oneof![
        prop_oneof![Just("null"), Just("true"), Just("false")]
            .prop_map(|word| Reading::Word(word.to_owned())),
        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?".prop_map(Reading::Number),
        text().prop_map(Reading::Text),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Reading::List),
            prop::collection::btree_map(text(), inner, 0..6).prop_map(Reading::Map),
        ]
    })
}

/// Faults that any value can be replaced by: text, kind, the pointer below the value, the byte
/// behind the start of the value.
const FAULTS: &[(&str, &str, &str, usize)] = &[
    (":", "expected_value", "", 0),
    ("-Infinity", "not_finite", "", 0),
    ("1.", "bad_number", "", 0),
    ("None", "bad_word", "", 0),
    ("'a'", "single_quote", "", 0),
    (r#""a\ud800b""#, "lone_surrogate", "", 2),
    (r#""\q""#, "bad_escape", "", 1),
    ("\"ab\u{1}\"", "control_character", "", 3),
    (r#"{"k":1,"k":2}"#, "duplicate_key", "/k", 7),
    (r#"{"~":[1,]}"#, "trailing_comma", "/~0", 7),
    (r#"[{"a/b" 1}]"#, "expected_colon", "/0/a~1b", 8),
];

/// Whether `pointer` names something in the document.
fn resolves(document: &Reading, pointer: &str) -> bool {
    let steps = pointer.split('/').skip(1);
    let found = steps.into_iter().try_fold(document, |reading, step| {
        let key = step.replace("~1", "/").replace("~0", "~");
        match reading {
            Reading::Map(members) => members.get(&key),
            Reading::List(elements) => elements.get(key.parse::<usize>().ok()?),
            Reading::Word(_) | Reading::Number(_) | Reading::Text(_) => None,
        }
    });
    found.is_some()
}

#[test]
fn the_other_reader_sees_what_a_repeated_key_hides() {
    // The first value of `a` is none, whatever the second is.
    let text = r#"[{"a": "\udc01", "a": 1}]"#;
    assert_eq!(oracle::read(text), None);
    assert_eq!(
        oracle::read(&text.replace(r"\udc01", "")),
        oracle::read(r#"[{"a": 1}]"#)
    );
    oracle::check(text);
}

proptest! {
    #[test]
    fn both_readers_agree_and_canonical_text_is_its_own(document in document(), dice: u64) {
        let text = Scribe::print(&document, dice);
        prop_assert_eq!(oracle::read(&text), Some(document));
        parse(&text).unwrap();
        oracle::check(&text);
    }

    #[test]
    fn the_way_of_printing_never_matters(document in document(), one: u64, other: u64) {
        for style in [Style::Spaced, Style::Compact] {
            prop_assert_eq!(
                canonical(&Scribe::print(&document, one), style),
                canonical(&Scribe::print(&document, other), style)
            );
        }
    }

    #[test]
    fn other_values_have_other_texts(one in document(), other in document()) {
        let write = |document| canonical(&Scribe::print(document, 0), Style::Spaced);
        prop_assert_eq!(write(&one) == write(&other), one == other);
    }

    #[test]
    fn a_fault_is_found_where_it_is(
        document in document(),
        dice: u64,
        after in 0usize..12,
        fault in prop::sample::select(FAULTS),
    ) {
        let (text, kind, below, offset) = fault;
        let mut scribe = Scribe::new(dice, Some((after, text)));
        scribe.value(&document);
        let Some((pointer, byte)) = scribe.plant.unwrap().place else {
            return Ok(());
        };
        let error = parse(&scribe.out).unwrap_err();
        prop_assert_eq!(error.kind.as_str(), kind);
        prop_assert_eq!(error.pointer, pointer + below);
        prop_assert_eq!(error.byte, byte + offset);
    }

    #[test]
    fn wherever_a_text_is_cut_the_pointer_leads_into_it(document in document(), dice: u64) {
        let text = Scribe::print(&document, dice);
        for (end, _) in text.char_indices() {
            if let Err(error) = parse(&text[..end]) {
                prop_assert!(error.byte <= end);
                prop_assert!(resolves(&document, &error.pointer), "{} at {}", error, end);
            }
        }
    }

    #[test]
    fn noise_is_read_as_the_other_reader_reads_it(
        noise in r#"[\[\]{}:,"\\0-2a-ftrulsnN.eE+\- \n/é]{0,24}"#,
        bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        oracle::check(&noise);
        oracle::check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_broken_document_is_read_as_the_other_reader_reads_it(
        document in document(),
        dice: u64,
        place: prop::sample::Index,
        with in r#"[\[\]{}:,"\\0a.\-]{0,2}"#,
    ) {
        let mut text: Vec<char> = Scribe::print(&document, dice).chars().collect();
        let place = place.index(text.len());
        text.splice(place..=place, with.chars());
        oracle::check(&text.into_iter().collect::<String>());
    }
}
