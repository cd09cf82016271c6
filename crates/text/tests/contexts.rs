//! Every class of the table on both sides of its context: where it stays and where it does not.

use headwater_text::{Action, inspect};

/// The decisions about all characters of the table in a text, in order, as one word each;
/// `!` marks an error or a change that has no automatic fix.
#[track_caller]
fn check(text: &str, expected: &str) {
    let found: Vec<String> = inspect(text)
        .iter()
        .map(|sighting| {
            let unfixable = sighting.action == Action::Error && sighting.fix().is_none();
            let mark = if unfixable { "!" } else { "" };
            format!("{}{mark}", sighting.action.as_str())
        })
        .collect();
    assert_eq!(found.join(" "), expected, "{text:?}");
}

#[test]
fn characters_outside_the_table() {
    check("", "");
    check("Plain text, with\nlines; naïve café 한국어 مرحبا 😀", "");
}

#[test]
fn newlines() {
    check(
        "a\r\nb\rc\u{85}d\u{2028}e\u{2029}f\n",
        "replace replace replace replace replace",
    );
}

#[test]
fn byte_order_mark_goes_everywhere() {
    check("\u{FEFF}a", "remove");
    check("a\u{FEFF}b", "remove");
    check("ไทย\u{FEFF}ไทย", "remove");
}

#[test]
fn zero_width_space_ends_words_in_scripts_without_spaces() {
    check("ภาษา\u{200B}ไทย", "keep");
    check("ភាសា\u{200B}ខ្មែរ", "keep");
    check("ພາສາ\u{200B}ລາວ", "keep");
    check("မြန်မာ\u{200B}စာ", "keep");
    check("pol\u{200B}icy", "remove");
    check("ไทย\u{200B}x", "remove");
    check("x\u{200B}ไทย", "remove");
    check("ไทย\u{200B}", "remove");
    check("ไทย\u{200B}\u{200B}ไทย", "remove keep");
    check("ไทย\u{2060}ไทย", "remove");
}

#[test]
fn non_joiner_parts_letters_that_would_join() {
    check("می\u{200C}خواهم", "keep");
    check("क्\u{200C}ष", "keep");
    check("ക്\u{200C}ഷ", "keep");
    check("ه\u{200C}", "keep");
    check("ه\u{64E}\u{200C}ا", "keep");
    check("می\u{200C} خواهم", "remove");
    check("می\u{200C}", "remove");
    check("\u{200C}می", "remove");
    check("ab\u{200C}cd", "remove");
    check("a\u{200C}م", "remove");
    check("क\u{200C}a", "remove");
    check("שלו\u{200C}ם", "remove");
    check("می\u{200C}\u{200C}خ", "remove keep");
}

#[test]
fn joiner_glues_emoji() {
    check("👩\u{200D}🍳", "keep");
    check("❤\u{FE0F}\u{200D}🔥", "keep keep");
    check("👩🏽\u{200D}🚀", "keep");
    check("👩🏽\u{200D}❤\u{FE0F}\u{200D}👨🏿", "keep keep keep");
    check("👩\u{200D}a", "remove");
    check("a\u{200D}👩", "remove");
    check("👩\u{200D}", "remove");
    check("\u{200D}👩", "remove");
    check("1\u{200D}2", "remove");
}

#[test]
fn joiner_shapes_letters() {
    check("क्\u{200D}ष", "keep");
    check("ශ්\u{200D}රී", "keep");
    check("র\u{200D}্য", "keep");
    check("ه\u{200D}", "keep");
    check("\u{200D}ه", "keep");
    check("क\u{200D}ष", "remove");
    check("ab\u{200D}c", "remove");
    check("של\u{200D}ום", "remove");
}

#[test]
fn variation_selectors_need_their_base() {
    check("❤\u{FE0F}", "keep");
    check("❤\u{FE0E}", "keep");
    check("©\u{FE0F}", "keep");
    check("1\u{FE0F}\u{20E3}", "keep");
    check("1\u{FE0F}", "remove");
    check("a\u{FE0F}", "remove");
    check("\u{FE0F}", "remove");
    check("❤\u{FE0F}\u{FE0F}", "keep remove");
    check("葛\u{E0100}", "keep");
    check("a\u{E0100}", "remove");
    check("葛\u{E0100}\u{E0101}", "keep remove");
    check("かな\u{E0100}", "remove");
    check("豈\u{FE00}", "keep");
    check("豈\u{FE03}", "remove");
    check("≨\u{FE00}", "keep");
    check("a\u{FE00}", "remove");
    check("ᠠ\u{180B}", "keep");
    check("a\u{180B}", "remove");
    check("ᠠ\u{180F}", "keep");
    check("😀\u{E0101}\u{E0102}\u{E0103}", "remove remove remove");
}

#[test]
fn bidi_marks_belong_to_lines_with_right_to_left_letters() {
    check("מחיר: 5$\u{200E} בלבד", "keep");
    check("سعر\u{61C} 5", "keep");
    check("price\u{200E} 5", "remove");
    check("שלום\nprice\u{200F} 5", "remove");
    check("שלום\r\nprice\u{200F} 5", "replace remove");
    check("1\u{61C}2", "remove");
}

#[test]
fn bidi_controls_are_errors() {
    check("a\u{202E}b\u{202C}", "error error");
    check("שלום \u{202B}abc\u{202C}", "error error");
    check("a \u{2066}b\u{2069}", "error error");
    check("שלום \u{2066}abc\u{2069}", "error! error!");
    check("שלום \u{2066}abc", "error");
    check("שלום \u{2066}a\u{2067}b\u{2069}", "error error! error!");
    check("שלום \u{2066}a\nb\u{2069}", "error error");
}

#[test]
fn deprecated_hints_and_hyphens_go() {
    check("a\u{206A}b\u{206F}", "remove remove");
    check("hy\u{AD}phen", "remove");
}

#[test]
fn invisible_operators_stay_in_mathml() {
    check("f\u{2061}(x)", "remove");
    check(
        "<math><mi>f</mi><mo>\u{2061}</mo>\n\u{2062}</math>\u{2063}",
        "keep keep remove",
    );
}

#[test]
fn grapheme_joiner_is_for_hebrew() {
    check("א\u{5B8}\u{34F}\u{5B0}", "keep");
    check("a\u{34F}b", "warn");
}

#[test]
fn hangul_fillers_complete_archaic_syllables() {
    check("\u{115F}\u{1161}", "keep");
    check("\u{1100}\u{1160}", "keep");
    check("\u{115F}\u{1160}\u{11A8}", "keep keep");
    check("\u{115F}\u{1160}", "error error");
    check("a\u{115F}b", "error");
    check("\u{1160}", "error");
    check("한\u{3164}글", "error");
    check("\u{FFA0}", "error");
}

#[test]
fn mongolian_vowel_separator() {
    check("ᠬᠠᠷ\u{180E}ᠠ", "keep");
    check("a\u{180E}b", "remove");
}

#[test]
fn warnings_without_a_change() {
    check("ក\u{17B4}\u{17B5}", "warn warn");
    check("a\u{FFFC}b\u{FFFD}", "warn warn");
    check("a\u{2800}b", "warn");
    check("⠓\u{2800}⠊", "keep");
    check("a\u{1D173}b", "warn");
    check("𝅘𝅥\u{1D173}", "keep");
    check("a\u{1BCA0}", "warn");
    check("𛰀\u{1BCA0}", "keep");
    check("a\u{13430}b", "warn");
    check("𓀀\u{13430}𓀁", "keep");
}

#[test]
fn tags_spell_flags_of_subdivisions() {
    let flag = |tags: &str| -> String {
        let tag = |c: char| char::from_u32(0xE_0000 + u32::from(c)).unwrap_or(c);
        tags.chars().map(tag).collect()
    };
    let keep = |count: usize| vec!["keep"; count].join(" ");
    let error = |count: usize| vec!["error"; count].join(" ");
    check(&format!("🏴{}\u{E007F}", flag("gbeng")), &keep(6));
    check(&format!("🏴{}\u{E007F}!", flag("gbsct")), &keep(6));
    check(&format!("🏴{}\u{E007F}", flag("frb")), &keep(4));
    check(&format!("🏴{}", flag("gbeng")), &error(5));
    check(&format!("{}\u{E007F}", flag("gbeng")), &error(6));
    check(&format!("a{}\u{E007F}", flag("gbeng")), &error(6));
    check(&format!("🏴{}\u{E007F}", flag("gbengx2")), &error(8));
    check(&format!("🏴{}\u{E007F}", flag("GBeng")), &error(6));
    check(&format!("🏴{}\u{E007F}", flag("gb")), &error(3));
    check("🏴\u{E007F}", "error");
    check(
        &format!("🏴{}\u{E007F}{}", flag("gbwls"), flag("hi")),
        &format!("{} {}", keep(6), error(2)),
    );
    check("a\u{E0001}", "error");
    check("🏴\u{E0001}", "error");
}

#[test]
fn what_can_never_be_meant() {
    check("\u{FFF9}a\u{FFFA}b\u{FFFB}", "error error error");
    check(
        "\u{FFFE}\u{FFFF}\u{FDD0}\u{1FFFE}\u{10FFFF}",
        "error! error! error! error! error!",
    );
    check(
        "\u{2065}\u{FFF0}\u{E0080}\u{E01F0}",
        "error! error! error! error!",
    );
    check("\0\u{1B}[0m", "error error");
}

#[test]
fn mentions() {
    check("\u{E000}\u{F8FF}\u{F0000}\u{10FFFD}", "info info info info");
    check("“a” – ‘b’ — …", "info info info info info info info");
}

#[test]
fn visible_format_characters_stay() {
    check(
        "\u{600}١٢ \u{6DD} \u{70F} \u{8E2} \u{110BD}",
        "keep keep keep keep keep",
    );
}

#[test]
fn controls_and_tabs() {
    check(
        "a\u{7}b\u{B}c\u{C}d\u{7F}e\u{80}f\u{9F}",
        "remove remove remove remove remove remove",
    );
    check("\tcode\twords", "keep keep");
    check("\t  aligned", "keep");
    check("  \tmixed", "warn");
    check("  a \tb", "keep");
}

#[test]
fn spaces_stay_where_a_language_writes_them() {
    check(
        "a\u{A0}b\u{2003}c\u{200A}d\u{205F}e",
        "replace replace replace replace",
    );
    check("Pourquoi\u{202F}?", "keep");
    check("«\u{202F}oui\u{202F}»\u{202F}!", "keep keep keep");
    check("10\u{202F}000", "keep");
    check("ᠮᠣᠩᠭᠣᠯ\u{202F}ᠤᠨ", "keep");
    check("a\u{202F}b", "replace");
    check("10\u{202F}kg", "replace");
    check("\u{202F}", "replace");
    check("東京\u{3000}大阪", "keep");
    check("서울\u{3000}부산", "keep");
    check("New\u{3000}York", "replace");
    check("東京\nNew\u{3000}York", "replace");
    check("ᚁᚂ\u{1680}ᚃ", "keep");
    check("a\u{1680}b", "replace");
}

#[test]
fn code_keeps_all_but_what_deceives() {
    check(
        "```\na\u{200B}b\u{A0}c\u{AD}\u{7}\n```\n",
        "warn warn warn warn",
    );
    check("```\na\u{3164}\u{FFF9}\u{FFFE}\n```\n", "warn warn warn");
    check(
        "```\n\u{FEFF}a\u{E0041}b\u{202E}c\u{200E}\0\r\n```\n",
        "remove error error remove error replace",
    );
    check("```\n👩\u{200D}🍳 “\n```\n", "keep info");
    check("```\u{A0}\n```\u{200B}\n", "replace remove");
}

#[test]
fn contexts_look_through_what_goes() {
    check("❤\u{200B}\u{FE0F}", "remove keep");
    check("👩\u{AD}\u{200D}🍳", "remove keep");
    check("👩\u{200D}\u{AD}🍳", "remove remove");
}
