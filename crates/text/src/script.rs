//! Questions about one character: which writing system it belongs to, and whether it is a letter.

use unicode_normalization::char::canonical_combining_class;
use unicode_properties::{
    GeneralCategory, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory,
};
use unicode_script::{Script, UnicodeScript};

/// Whether the character belongs to a script.
pub(crate) fn is(c: char, script: Script) -> bool {
    c.script() == script
}

pub(crate) fn is_letter(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Letter
}

pub(crate) fn is_mark(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Mark
}

pub(crate) fn is_digit(c: char) -> bool {
    c.general_category() == GeneralCategory::DecimalNumber
}

/// A character that can be an element of an emoji sequence by itself.
///
/// Digits, `#`, `*`, regional indicators and skin tones are emoji too, but only parts of them.
pub(crate) fn is_pictograph(c: char) -> bool {
    c.is_emoji_char() && !c.is_emoji_component()
}

pub(crate) fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1F3FB}'..='\u{1F3FF}')
}

/// A letter of a script that is written from right to left.
pub(crate) fn is_rtl_letter(c: char) -> bool {
    let rtl = matches!(
        c.script(),
        Script::Hebrew
            | Script::Arabic
            | Script::Syriac
            | Script::Thaana
            | Script::Nko
            | Script::Samaritan
            | Script::Mandaic
            | Script::Adlam
            | Script::Hanifi_Rohingya
            | Script::Yezidi
            | Script::Mende_Kikakui
            | Script::Imperial_Aramaic
            | Script::Phoenician
            | Script::Manichaean
            | Script::Psalter_Pahlavi
            | Script::Sogdian
            | Script::Old_Uyghur
    );
    rtl && is_letter(c)
}

/// A letter of a script whose letters join, so that a joiner or non-joiner shapes it.
pub(crate) fn is_joining_letter(c: char) -> bool {
    let joining = matches!(
        c.script(),
        Script::Arabic
            | Script::Syriac
            | Script::Nko
            | Script::Mandaic
            | Script::Mongolian
            | Script::Phags_Pa
            | Script::Manichaean
            | Script::Psalter_Pahlavi
            | Script::Adlam
            | Script::Hanifi_Rohingya
            | Script::Sogdian
            | Script::Old_Uyghur
            | Script::Chorasmian
    );
    joining && is_letter(c)
}

/// Any character of a script of the Indic family, in which a virama makes conjuncts.
pub(crate) fn is_indic(c: char) -> bool {
    matches!(
        c.script(),
        Script::Devanagari
            | Script::Bengali
            | Script::Gurmukhi
            | Script::Gujarati
            | Script::Oriya
            | Script::Tamil
            | Script::Telugu
            | Script::Kannada
            | Script::Malayalam
            | Script::Sinhala
            | Script::Myanmar
            | Script::Khmer
            | Script::Balinese
            | Script::Javanese
            | Script::Grantha
            | Script::Newa
            | Script::Tirhuta
            | Script::Siddham
            | Script::Sharada
            | Script::Modi
            | Script::Kaithi
            | Script::Brahmi
            | Script::Chakma
            | Script::Meetei_Mayek
    )
}

/// The mark that takes the inherent vowel from a letter: those of combining class 9.
pub(crate) fn is_virama(c: char) -> bool {
    canonical_combining_class(c) == 9
}

/// A script that writes no spaces between words, so that U+200B marks where one ends.
pub(crate) fn is_spaceless(c: char) -> bool {
    matches!(
        c.script(),
        Script::Thai | Script::Lao | Script::Khmer | Script::Myanmar
    )
}

/// A character of a script that uses the ideographic space.
pub(crate) fn is_cjk(c: char) -> bool {
    matches!(
        c.script(),
        Script::Han | Script::Hiragana | Script::Katakana | Script::Bopomofo | Script::Hangul
    )
}

/// An ideograph, to which an ideographic variation selector can belong.
pub(crate) fn is_ideograph(c: char) -> bool {
    is(c, Script::Han) && c.general_category() == GeneralCategory::OtherLetter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables behind these questions answer for every character.
    #[test]
    fn no_character_stops_it() {
        let pictographs = ('\0'..=char::MAX).filter(|c| is_pictograph(*c)).count();
        assert!(pictographs > 1_000, "{pictographs}");
    }

    #[test]
    fn parts_of_emoji_are_no_pictographs() {
        for c in ['❤', '©', '👨', '🏴', '♂'] {
            assert!(is_pictograph(c), "{c}");
        }
        for c in ['1', '#', '\u{1F1E6}', '\u{1F3FB}', 'a', '\u{200D}'] {
            assert!(!is_pictograph(c), "{c}");
        }
    }
}
