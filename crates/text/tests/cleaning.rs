//! Steps and profiles: text in, canonical text and account out.

use headwater_text::{Action, Position, Profile, Span, Step, clean, clean_following};

#[track_caller]
fn check(text: &str, expected: &str) {
    check_profile(Profile::Strict, text, expected);
}

#[track_caller]
fn check_profile(profile: Profile, text: &str, expected: &str) {
    assert_eq!(
        clean(text, profile).map(|cleaned| cleaned.text),
        Ok(expected.to_owned()),
        "{text:?}"
    );
}

/// The account of the changes, one a line.
#[track_caller]
fn check_changes(text: &str, expected: &[&str]) {
    let changes = clean(text, Profile::Strict).map(|cleaned| cleaned.changes);
    let account: Vec<String> = changes.iter().flatten().map(ToString::to_string).collect();
    assert_eq!(account, expected, "{text:?}");
}

#[test]
fn newline_forms() {
    check("a\r\nb\rc\u{85}d\u{2028}e\u{2029}f\n", "a\nb\nc\nd\ne\nf\n");
    check("a\r\r\nb", "a\n\nb\n");
    check("a\n\rb", "a\n\nb\n");
    check("a\r\u{200B}\nb", "a\n\nb\n");
}

#[test]
fn segment_end() {
    check("", "");
    check("a", "a\n");
    check("a\n", "a\n");
    check("a\n\n \n", "a\n");
    check("\n", "");
    check(" \t\n\u{FEFF}\n", "");
    check("\na", "\na\n");
    check("```\ncode\n\n\n", "```\ncode\n");
}

#[test]
fn segment_start() {
    let following = |text: &str| clean_following(text, Profile::Strict).map(|cleaned| cleaned.text);
    assert_eq!(following("\n \n    - a\n"), Ok("    - a\n".to_owned()));
    assert_eq!(following("\n\r\na\n"), Ok("a\n".to_owned()));
    assert_eq!(following("a\n\nb\n"), Ok("a\n\nb\n".to_owned()));
    assert_eq!(following("\n\n"), Ok(String::new()));
    assert_eq!(following("\n"), Ok(String::new()));
    let dynamic = clean_following("\n\na", Profile::Dynamic).map(|cleaned| cleaned.text);
    assert_eq!(dynamic, Ok("\n\na".to_owned()));
}

#[test]
fn line_ends() {
    check("a \nb  \nc   \nd\t\n", "a\nb\nc\nd\n");
    check("a\u{A0}\nb", "a\nb\n");
    check("   indented\n\tcode\n", "   indented\n\tcode\n");
    check("two  spaces   stay\n", "two  spaces   stay\n");
    check("a\n\n\n\nb\n", "a\n\n\n\nb\n");
}

#[test]
fn form_nfc_and_never_nfkc() {
    check("cafe\u{301}\n", "caf\u{E9}\n");
    check("\u{1112}\u{1161}\u{11AB}\n", "한\n");
    check("\u{2126} \u{212B}\n", "Ω Å\n");
    check("q\u{323}\u{307}\n", "q\u{323}\u{307}\n");
    check("q\u{307}\u{323}\n", "q\u{323}\u{307}\n");
    check("\u{958}\n", "\u{915}\u{93C}\n");
    check("10² ½ ﬁ Ａ ①\n", "10² ½ ﬁ Ａ ①\n");
    check("\u{F900}\n", "\u{8C48}\n");
    check("\u{1100}\u{1161}\u{1100}e\u{301}e\n", "가\u{1100}ée\n");
}

#[test]
fn removal_lets_neighbours_compose() {
    check("e\u{200B}\u{301}\n", "\u{E9}\n");
    check("\u{1100}\u{AD}\u{1161}\n", "가\n");
    check("word\u{202F}\u{37E}\n", "word ;\n");
}

#[test]
fn table_in_its_contexts() {
    check("\u{FEFF}pol\u{200B}icy\u{A0}a\u{7}b\n", "policy ab\n");
    check(
        "👩\u{200D}🍳 می\u{200C}خواهم ❤\u{FE0F}\n",
        "👩\u{200D}🍳 می\u{200C}خواهم ❤\u{FE0F}\n",
    );
    check("a\u{3000}b\n東京\u{3000}大阪\n", "a b\n東京\u{3000}大阪\n");
    check("“quoted” – kept…\u{E000}\n", "“quoted” – kept…\u{E000}\n");
}

#[test]
fn code_is_left_alone() {
    check(
        "```\na \u{A0}e\u{301}\u{200B}\r\n```  \nb \n",
        "```\na \u{A0}e\u{301}\u{200B}\n```\nb\n",
    );
    check("```\n\u{FEFF}x\u{200E}y\n```\n", "```\nxy\n```\n");
}

#[test]
fn dynamic_text_keeps_its_letters() {
    let check = |text, expected| check_profile(Profile::Dynamic, text, expected);
    check(
        "a \r\ncafe\u{301}\u{A0}\u{200B}\u{7}  ",
        "a \ncafe\u{301}\u{A0}\u{200B}\u{7}  ",
    );
    check("\u{FEFF}a\u{FEFF}", "a");
    check("a\u{E0041}\u{E0042}b", "ab");
    check("a\u{202E}b\u{202C}c\u{2066}d", "abcd");
    check("\0a\u{1B}[31m", "a[31m");
    check("שלום \u{2066}abc\u{2069}", "שלום \u{2066}abc\u{2069}");
    check(
        "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
        "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
    );
    check(
        "🏴\u{E0067}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E0067}\u{E007F}",
        "🏴",
    );
    check("```\n\0\u{202E}\n```", "```\n\n```");
    check("\u{FFFE}\u{3164}\u{FFF9}", "\u{FFFE}\u{3164}\u{FFF9}");
    check("\n\n", "\n\n");
}

#[test]
fn dynamic_text_is_judged_alike_in_and_out_of_code() {
    for text in ["a\u{7}\u{200B}\u{A0}", "```\na\u{7}\u{200B}\u{A0}"] {
        let cleaned = clean(text, Profile::Dynamic).unwrap();
        assert_eq!(cleaned.text, text);
        assert!(cleaned.warnings.is_empty(), "{:?}", cleaned.warnings);
    }
}

#[test]
fn dynamic_text_reports_what_it_took_and_what_it_left() {
    let cleaned = clean("a\0\u{3164}\u{FFFD}", Profile::Dynamic).unwrap();
    assert_eq!(cleaned.count(Step::Dangerous), 1);
    assert_eq!(
        cleaned.changes[0].to_string(),
        "1:2: dangerous: remove ⟨U+0000⟩ NULL"
    );
    let left: Vec<String> = cleaned.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        left,
        [
            "1:3: ⟨U+3164⟩ HANGUL FILLER",
            "1:4: ⟨U+FFFD⟩ REPLACEMENT CHARACTER"
        ]
    );
}

#[test]
fn verbatim_text_stays() {
    let text = "\u{FEFF}a \r\n\0\u{E0041}e\u{301}";
    let cleaned = clean(text, Profile::Verbatim).unwrap();
    assert_eq!(cleaned.text, text);
    assert!(cleaned.changes.is_empty() && cleaned.warnings.is_empty());
}

#[test]
fn changes_say_what_where_and_how() {
    check_changes("a\n", &[]);
    check_changes("a", &["1:2: segment_end: insert \"\\n\""]);
    check_changes(
        "a\r\nb\r\nc \r\nd\r\n\n",
        &[
            "1:2: newline: replace ⟨U+000D⟩ CARRIAGE RETURN with \"\\n\", and at the next end of a line",
            "3:2: trailing_space: remove ⟨U+0020⟩",
            "3:3: newline: replace ⟨U+000D⟩ CARRIAGE RETURN with \"\\n\", and at the next end of a line",
            "5:1: segment_end: remove ⟨U+000A⟩",
        ],
    );
    check_changes(
        "a \nb  \nc \t\nd \n\ne \n",
        &[
            "1:2: trailing_space: remove ⟨U+0020⟩, and at the next end of a line",
            "3:2: trailing_space: remove ⟨U+0020⟩",
            "4:2: trailing_space: remove ⟨U+0020⟩",
            "6:2: trailing_space: remove ⟨U+0020⟩",
        ],
    );
    check_changes("a\n\n\n", &["2:1: segment_end: remove ⟨U+000A⟩"]);
    check_changes(
        "é\u{200B}x\u{A0}y  \r\ncafe\u{301}\u{7}\n",
        &[
            "1:2: invisible: remove ⟨U+200B⟩ ZERO WIDTH SPACE",
            "1:4: space: replace ⟨U+00A0⟩ NO-BREAK SPACE with \" \"",
            "1:6: trailing_space: remove ⟨U+0020⟩",
            "1:8: newline: replace ⟨U+000D⟩ CARRIAGE RETURN with \"\\n\"",
            "2:4: nfc: normalize ⟨U+0065⟩",
            "2:6: control: remove ⟨U+0007⟩ BELL",
        ],
    );
}

#[test]
fn spans_are_those_of_the_input() {
    let text = "é\u{200B}\r\ne\u{200B}\u{301}  \n";
    let cleaned = clean(text, Profile::Strict).unwrap();
    assert_eq!(cleaned.text, "é\n\u{E9}\n");
    let spans: Vec<(Step, &str)> = cleaned
        .changes
        .iter()
        .map(|change| (change.step, &text[change.span.start..change.span.end]))
        .collect();
    assert_eq!(
        spans,
        [
            (Step::Invisible, "\u{200B}"),
            (Step::Newline, "\r\n"),
            (Step::Nfc, "e\u{200B}\u{301}"),
            (Step::Invisible, "\u{200B}"),
            (Step::TrailingSpace, "  "),
        ]
    );
    assert_eq!(cleaned.changes[0].position, Position { line: 1, column: 2 });
}

#[test]
fn counts_name_the_steps() {
    let cleaned = clean("a\r\nb\u{200B}\u{200B}\r\n", Profile::Strict).unwrap();
    let counts: Vec<_> = cleaned.counts().collect();
    assert_eq!(counts, [(Step::Newline, 2), (Step::Invisible, 2)]);
}

#[test]
fn warnings_are_what_is_left() {
    let cleaned = clean("ok\n\u{200B}a\u{FFFD}\n", Profile::Strict).unwrap();
    assert_eq!(cleaned.warnings.len(), 1);
    assert_eq!(cleaned.warnings[0].span, Span::new(7, 10));
    assert_eq!(
        cleaned.warnings[0].to_string(),
        "2:3: ⟨U+FFFD⟩ REPLACEMENT CHARACTER"
    );
    assert_eq!(cleaned.warnings[0].action, Action::Warn);
}

#[test]
fn errors_list_everything_with_its_place() {
    let error = clean("ok\r\nBe kind.\u{E0041}\n\u{202E}", Profile::Strict).unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 characters must not be in static prompt text\n  \
         2:9: ⟨U+E0041⟩ TAG CHARACTER\n  \
         3:1: ⟨U+202E⟩ RIGHT-TO-LEFT OVERRIDE\n\
         help: delete them if you did not put them there; \
         if they belong there, mark the segment `verbatim`"
    );
    assert!(clean("\0", Profile::Strict).is_err());
    assert!(clean("```\n\0\n```\n", Profile::Strict).is_err());
}
