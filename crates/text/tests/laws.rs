//! Laws of cleaning, over ordinary and over hostile text.

use headwater_text::{
    Action, CleanError, Cleaned, Profile, Step, clean, clean_following, inspect, shown,
};
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

const PROFILES: [Profile; 3] = [Profile::Strict, Profile::Dynamic, Profile::Verbatim];

/// Pieces that meet badly: each is harmless somewhere and not elsewhere.
const PIECES: &[&str] = &[
    "a",
    "e",
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\u{85}",
    "\u{2028}",
    "```",
    "~~~",
    "`",
    "\u{1FEF}",
    "\u{301}",
    "\u{323}",
    "\u{344}",
    "\u{20E3}",
    "1",
    "\u{37E}",
    "?",
    "«",
    "\u{202F}",
    "\u{A0}",
    "\u{3000}",
    "\u{1680}",
    "ᚁ",
    "東",
    "か",
    "\u{F900}",
    "\u{FE00}",
    "\u{FE0F}",
    "\u{E0100}",
    "❤",
    "👩",
    "\u{1F3FD}",
    "\u{200B}",
    "\u{200C}",
    "\u{200D}",
    "\u{200E}",
    "\u{2060}",
    "\u{FEFF}",
    "\u{AD}",
    "\u{34F}",
    "\u{7}",
    "\u{C}",
    "م",
    "ه",
    "\u{64E}",
    "ש",
    "\u{5B8}",
    "क",
    "\u{94D}",
    "\u{93C}",
    "\u{958}",
    "র",
    "ไ",
    "ក",
    "\u{1100}",
    "\u{1161}",
    "\u{11A8}",
    "ᠠ",
    "\u{180B}",
    "\u{180E}",
    "\u{2061}",
    "<math>",
    "</math>",
    "<ma",
    "th>",
    "</",
    "\u{2800}",
    "⠓",
    "\u{FFFD}",
    "\u{1D173}",
    "\u{1D15E}",
    "“",
    "\u{E000}",
    "🏴",
    "\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
];

/// Pieces that strict text is refused for.
const DANGEROUS: &[&str] = &[
    "\0",
    "\u{1B}",
    "\u{202E}",
    "\u{2066}",
    "\u{2069}",
    "\u{E0041}",
    "\u{E007F}",
    "\u{115F}",
    "\u{1160}",
    "\u{3164}",
    "\u{FFF9}",
    "\u{FFFE}",
    "\u{2065}",
];

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        60 => proptest::sample::select(PIECES),
        1 => proptest::sample::select(DANGEROUS),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![6 => hostile(), 1 => any::<String>(), 1 => "[ -~\n\r\t]{0,60}"]
}

/// Text without characters of the table and without fences.
fn unlisted() -> impl Strategy<Value = String> {
    let is_unlisted =
        |text: &str| inspect(text).is_empty() && !text.contains(['`', '~', '\u{1FEF}']);
    let pieces: Vec<String> = PIECES
        .iter()
        .filter(|piece| is_unlisted(piece))
        .map(ToString::to_string)
        .collect();
    let any_piece = any::<char>().prop_map(move |c| match c.to_string() {
        piece if is_unlisted(&piece) => piece,
        _ => "x".to_owned(),
    });
    let piece = prop_oneof![4 => proptest::sample::select(pieces), 1 => any_piece];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cleaning_twice_is_cleaning_once(text in text()) {
        for profile in PROFILES {
            for clean in [clean, clean_following] {
                let Ok(once) = clean(&text, profile) else { continue };
                let twice = clean(&once.text, profile);
                prop_assert!(twice.is_ok(), "{:?}", shown(&once.text));
                let twice = twice.unwrap();
                prop_assert_eq!(shown(&twice.text), shown(&once.text));
                prop_assert!(twice.changes.is_empty(), "{:?}", twice.changes);
                prop_assert_eq!(twice.warnings.len(), once.warnings.len());
            }
        }
    }

    /// A canonical text has no changes, and one without changes is canonical.
    #[test]
    fn changes_tell_the_whole_story(text in text()) {
        for profile in PROFILES {
            let Ok(cleaned) = clean(&text, profile) else { continue };
            prop_assert_eq!(cleaned.changes.is_empty(), cleaned.text == text);
        }
    }

    /// Strict text that comes out holds nothing that the linter would change or refuse.
    #[test]
    fn the_linter_agrees(text in text()) {
        let Ok(cleaned) = clean(&text, Profile::Strict) else {
            return Ok(());
        };
        for sighting in inspect(&cleaned.text) {
            let stays = matches!(sighting.action, Action::Keep | Action::Warn | Action::Info);
            prop_assert!(stays, "{}", sighting);
        }
    }

    #[test]
    fn only_strict_cleaning_can_fail(text in text()) {
        prop_assert!(clean(&text, Profile::Dynamic).is_ok());
        prop_assert!(clean(&text, Profile::Verbatim).is_ok());
        if let Err(error) = clean(&text, Profile::Strict) {
            prop_assert!(!error.sightings.is_empty());
        }
    }

    /// A file with CRLF is the same file: only its line ends are told besides.
    #[test]
    fn line_ends_of_another_system_change_nothing_else(text in text()) {
        let unix = text.replace('\r', "");
        let windows = unix.replace('\n', "\r\n");
        for profile in [Profile::Strict, Profile::Dynamic] {
            for clean in [clean, clean_following] {
                let (one, other) = match (clean(&unix, profile), clean(&windows, profile)) {
                    (Ok(one), Ok(other)) => (one, other),
                    (one, other) => {
                        let places = |failed: Result<Cleaned, CleanError>| {
                            let sightings = failed.unwrap_err().sightings;
                            sightings.iter().map(ToString::to_string).collect::<Vec<_>>()
                        };
                        prop_assert_eq!(places(one), places(other));
                        continue;
                    }
                };
                prop_assert_eq!(shown(&one.text), shown(&other.text));
                let newlines = unix.matches('\n').count();
                prop_assert_eq!(other.count(Step::Newline), one.count(Step::Newline) + newlines);
                let places = |cleaned: &Cleaned| {
                    let changes = cleaned.changes.iter();
                    let rest = changes.filter(|change| change.code_point != Some('\r'));
                    rest.map(|change| (change.position, change.step)).collect::<Vec<_>>()
                };
                prop_assert_eq!(places(&one), places(&other));
                for (one, other) in one.warnings.iter().zip(&other.warnings) {
                    prop_assert_eq!(one.to_string(), other.to_string());
                    prop_assert_eq!(&unix[one.span.start..one.span.end], &windows[other.span.start..other.span.end]);
                }
            }
        }
    }

    /// Spans lie on characters of the input and come in its order.
    #[test]
    fn spans_fit_the_input(text in text()) {
        for profile in PROFILES {
            let Ok(cleaned) = clean(&text, profile) else { continue };
            for change in &cleaned.changes {
                prop_assert!(text.get(change.span.start..change.span.end).is_some());
            }
            prop_assert!(cleaned.changes.is_sorted_by_key(|change| change.span));
            for warning in &cleaned.warnings {
                let seen = text.get(warning.span.start..warning.span.end);
                prop_assert_eq!(seen.map(str::to_owned), Some(warning.code_point.to_string()));
            }
        }
        for sighting in inspect(&text) {
            prop_assert!(text[sighting.span.start..sighting.span.end].starts_with(sighting.code_point));
        }
    }

    /// What the table does not list changes by NFC only; spaces at line ends and the newlines
    /// at the end aside.
    #[test]
    fn nothing_else_is_touched(text in unlisted()) {
        prop_assert_eq!(inspect(&text).len(), 0);
        let composed: String = text.nfc().collect();
        let lines: Vec<&str> = composed.split('\n').map(|line| line.trim_end_matches([' ', '\t'])).collect();
        let body = lines.join("\n");
        let body = body.trim_end_matches('\n');
        let expected = if body.is_empty() { String::new() } else { format!("{body}\n") };
        prop_assert_eq!(clean(&text, Profile::Strict).map(|cleaned| cleaned.text), Ok(expected));
    }

    /// Nothing that a terminal could act on is left.
    #[test]
    fn shown_text_is_safe_to_print(text in text()) {
        let shown = shown(&text);
        prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        let hidden = ['\u{202E}', '\u{2066}', '\u{200B}', '\u{E0041}'];
        prop_assert_eq!(shown.find(hidden), None);
    }
}

/// Every assigned character on a line of its own: only the table and NFC change anything.
#[test]
fn every_single_character() {
    let all: Vec<char> = ('\0'..='\u{3FFFF}')
        .chain('\u{E0000}'..='\u{E0FFF}')
        .collect();
    for block in all.chunks(512) {
        let listed: Vec<char> = inspect(&block.iter().collect::<String>())
            .iter()
            .map(|sighting| sighting.code_point)
            .collect();
        let text: String = block
            .iter()
            .filter(|c| !listed.contains(c) && **c != '\n')
            .map(|c| format!("a{c}b\n"))
            .collect();
        assert!(inspect(&text).is_empty(), "{:?}", block[0]);
        let cleaned = clean(&text, Profile::Strict).map(|cleaned| cleaned.text);
        assert_eq!(
            cleaned,
            Ok(text.nfc().collect::<String>()),
            "{:?}",
            block[0]
        );
    }
}

/// The number of rounds does not grow with the text: this would take minutes if it did.
#[test]
fn long_hostile_text_is_quick() {
    for piece in [
        "\u{200B}e\u{301} ",
        "\u{200E}",
        "a\u{34F}\u{200C}",
        "\u{2066}",
        "👩\u{200D}",
        "  \t",
        "<ma\u{2061}th>\u{2061}",
        "\u{200B}```\n",
        "\u{301}",
        "ᠠ\u{200C}\u{180B}",
    ] {
        let text = piece.repeat(10_000);
        for profile in PROFILES {
            if let Ok(once) = clean(&text, profile) {
                assert!(clean(&once.text, profile).is_ok_and(|twice| twice.text == once.text));
            }
        }
    }
}
