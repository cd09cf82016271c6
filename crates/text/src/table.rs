//! The table: every character that is invisible, looks like another one, or should not be in
//! a prompt at all. Flat data in the order of the code points; what a class means to its
//! neighbours is decided in `context`.

use crate::Class;
use crate::Class::*;
use crate::plain::is_plain;

/// One row: first and last code point, class, name.
pub(crate) type Row = (char, char, Class, &'static str);

/// The row of a character, if the table has it.
pub(crate) fn row(c: char) -> Option<&'static Row> {
    if let Some(after) = NEAR.get(c as usize) {
        return TABLE.get(usize::from(*after).checked_sub(1)?);
    }
    let after = TABLE.partition_point(|(first, ..)| *first <= c);
    let row = TABLE.get(after.checked_sub(1)?)?;
    (c <= row.1).then_some(row)
}

/// The class of a character, if the table has it.
pub(crate) fn class(c: char) -> Option<Class> {
    if is_plain(c) {
        return None;
    }
    row(c).map(|(_, _, class, _)| *class)
}

/// For each character up to the invisible ones of general punctuation one more than the index
/// of its row, or 0. These are the characters of the table that ordinary text has.
static NEAR: [u8; 0x2070] = near();

const fn near() -> [u8; 0x2070] {
    let mut near = [0; 0x2070];
    let mut index = 0;
    while index < TABLE.len() {
        let (first, last, ..) = TABLE[index];
        index += 1;
        let mut code = first as usize;
        while code <= last as usize && code < near.len() {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the rows up to there are fewer than 255; a test looks at each"
            )]
            let after = index as u8;
            near[code] = after;
            code += 1;
        }
    }
    near
}

/// The name of a character of the table, in capitals as the standard writes names.
///
/// Ranges without individual names (private use, noncharacters, tag letters) share one.
/// A character outside the table is called `CHARACTER`.
///
/// ```
/// assert_eq!(headwater_text::name('\u{200B}'), "ZERO WIDTH SPACE");
/// assert_eq!(headwater_text::name('a'), "CHARACTER");
/// ```
#[must_use]
pub fn name(c: char) -> &'static str {
    row(c).map_or("CHARACTER", |(.., name)| name)
}

/// Sorted, without overlaps; a test holds it to that.
#[rustfmt::skip]
pub(crate) const TABLE: &[Row] = &[
    ('\u{0000}', '\u{0000}', DangerousControl, "NULL"),
    ('\u{0001}', '\u{0001}', Control, "START OF HEADING"),
    ('\u{0002}', '\u{0002}', Control, "START OF TEXT"),
    ('\u{0003}', '\u{0003}', Control, "END OF TEXT"),
    ('\u{0004}', '\u{0004}', Control, "END OF TRANSMISSION"),
    ('\u{0005}', '\u{0005}', Control, "ENQUIRY"),
    ('\u{0006}', '\u{0006}', Control, "ACKNOWLEDGE"),
    ('\u{0007}', '\u{0007}', Control, "BELL"),
    ('\u{0008}', '\u{0008}', Control, "BACKSPACE"),
    ('\u{0009}', '\u{0009}', Tab, "CHARACTER TABULATION"),
    ('\u{000B}', '\u{000B}', Control, "LINE TABULATION"),
    ('\u{000C}', '\u{000C}', Control, "FORM FEED"),
    ('\u{000D}', '\u{000D}', Newline, "CARRIAGE RETURN"),
    ('\u{000E}', '\u{000E}', Control, "SHIFT OUT"),
    ('\u{000F}', '\u{000F}', Control, "SHIFT IN"),
    ('\u{0010}', '\u{0010}', Control, "DATA LINK ESCAPE"),
    ('\u{0011}', '\u{0011}', Control, "DEVICE CONTROL ONE"),
    ('\u{0012}', '\u{0012}', Control, "DEVICE CONTROL TWO"),
    ('\u{0013}', '\u{0013}', Control, "DEVICE CONTROL THREE"),
    ('\u{0014}', '\u{0014}', Control, "DEVICE CONTROL FOUR"),
    ('\u{0015}', '\u{0015}', Control, "NEGATIVE ACKNOWLEDGE"),
    ('\u{0016}', '\u{0016}', Control, "SYNCHRONOUS IDLE"),
    ('\u{0017}', '\u{0017}', Control, "END OF TRANSMISSION BLOCK"),
    ('\u{0018}', '\u{0018}', Control, "CANCEL"),
    ('\u{0019}', '\u{0019}', Control, "END OF MEDIUM"),
    ('\u{001A}', '\u{001A}', Control, "SUBSTITUTE"),
    ('\u{001B}', '\u{001B}', DangerousControl, "ESCAPE"),
    ('\u{001C}', '\u{001C}', Control, "INFORMATION SEPARATOR FOUR"),
    ('\u{001D}', '\u{001D}', Control, "INFORMATION SEPARATOR THREE"),
    ('\u{001E}', '\u{001E}', Control, "INFORMATION SEPARATOR TWO"),
    ('\u{001F}', '\u{001F}', Control, "INFORMATION SEPARATOR ONE"),
    ('\u{007F}', '\u{007F}', Control, "DELETE"),
    ('\u{0080}', '\u{0084}', Control, "C1 CONTROL"),
    ('\u{0085}', '\u{0085}', Newline, "NEXT LINE"),
    ('\u{0086}', '\u{009F}', Control, "C1 CONTROL"),
    ('\u{00A0}', '\u{00A0}', Space, "NO-BREAK SPACE"),
    ('\u{00AD}', '\u{00AD}', SoftHyphen, "SOFT HYPHEN"),
    ('\u{034F}', '\u{034F}', GraphemeJoiner, "COMBINING GRAPHEME JOINER"),
    ('\u{0600}', '\u{0600}', PrependedMark, "ARABIC NUMBER SIGN"),
    ('\u{0601}', '\u{0601}', PrependedMark, "ARABIC SIGN SANAH"),
    ('\u{0602}', '\u{0602}', PrependedMark, "ARABIC FOOTNOTE MARKER"),
    ('\u{0603}', '\u{0603}', PrependedMark, "ARABIC SIGN SAFHA"),
    ('\u{0604}', '\u{0604}', PrependedMark, "ARABIC SIGN SAMVAT"),
    ('\u{0605}', '\u{0605}', PrependedMark, "ARABIC NUMBER MARK ABOVE"),
    ('\u{061C}', '\u{061C}', BidiMark, "ARABIC LETTER MARK"),
    ('\u{06DD}', '\u{06DD}', PrependedMark, "ARABIC END OF AYAH"),
    ('\u{070F}', '\u{070F}', PrependedMark, "SYRIAC ABBREVIATION MARK"),
    ('\u{0890}', '\u{0890}', PrependedMark, "ARABIC POUND MARK ABOVE"),
    ('\u{0891}', '\u{0891}', PrependedMark, "ARABIC PIASTRE MARK ABOVE"),
    ('\u{08E2}', '\u{08E2}', PrependedMark, "ARABIC DISPUTED END OF AYAH"),
    ('\u{115F}', '\u{115F}', HangulFiller, "HANGUL CHOSEONG FILLER"),
    ('\u{1160}', '\u{1160}', HangulFiller, "HANGUL JUNGSEONG FILLER"),
    ('\u{1680}', '\u{1680}', Space, "OGHAM SPACE MARK"),
    ('\u{17B4}', '\u{17B4}', KhmerVowel, "KHMER VOWEL INHERENT AQ"),
    ('\u{17B5}', '\u{17B5}', KhmerVowel, "KHMER VOWEL INHERENT AA"),
    ('\u{180B}', '\u{180B}', VariationSelector, "MONGOLIAN FREE VARIATION SELECTOR ONE"),
    ('\u{180C}', '\u{180C}', VariationSelector, "MONGOLIAN FREE VARIATION SELECTOR TWO"),
    ('\u{180D}', '\u{180D}', VariationSelector, "MONGOLIAN FREE VARIATION SELECTOR THREE"),
    ('\u{180E}', '\u{180E}', MongolianSeparator, "MONGOLIAN VOWEL SEPARATOR"),
    ('\u{180F}', '\u{180F}', VariationSelector, "MONGOLIAN FREE VARIATION SELECTOR FOUR"),
    ('\u{2000}', '\u{2000}', Space, "EN QUAD"),
    ('\u{2001}', '\u{2001}', Space, "EM QUAD"),
    ('\u{2002}', '\u{2002}', Space, "EN SPACE"),
    ('\u{2003}', '\u{2003}', Space, "EM SPACE"),
    ('\u{2004}', '\u{2004}', Space, "THREE-PER-EM SPACE"),
    ('\u{2005}', '\u{2005}', Space, "FOUR-PER-EM SPACE"),
    ('\u{2006}', '\u{2006}', Space, "SIX-PER-EM SPACE"),
    ('\u{2007}', '\u{2007}', Space, "FIGURE SPACE"),
    ('\u{2008}', '\u{2008}', Space, "PUNCTUATION SPACE"),
    ('\u{2009}', '\u{2009}', Space, "THIN SPACE"),
    ('\u{200A}', '\u{200A}', Space, "HAIR SPACE"),
    ('\u{200B}', '\u{200B}', ZeroWidth, "ZERO WIDTH SPACE"),
    ('\u{200C}', '\u{200C}', NonJoiner, "ZERO WIDTH NON-JOINER"),
    ('\u{200D}', '\u{200D}', Joiner, "ZERO WIDTH JOINER"),
    ('\u{200E}', '\u{200E}', BidiMark, "LEFT-TO-RIGHT MARK"),
    ('\u{200F}', '\u{200F}', BidiMark, "RIGHT-TO-LEFT MARK"),
    ('\u{2013}', '\u{2013}', Typography, "EN DASH"),
    ('\u{2014}', '\u{2014}', Typography, "EM DASH"),
    ('\u{2018}', '\u{2018}', Typography, "LEFT SINGLE QUOTATION MARK"),
    ('\u{2019}', '\u{2019}', Typography, "RIGHT SINGLE QUOTATION MARK"),
    ('\u{201A}', '\u{201A}', Typography, "SINGLE LOW-9 QUOTATION MARK"),
    ('\u{201B}', '\u{201B}', Typography, "SINGLE HIGH-REVERSED-9 QUOTATION MARK"),
    ('\u{201C}', '\u{201C}', Typography, "LEFT DOUBLE QUOTATION MARK"),
    ('\u{201D}', '\u{201D}', Typography, "RIGHT DOUBLE QUOTATION MARK"),
    ('\u{2026}', '\u{2026}', Typography, "HORIZONTAL ELLIPSIS"),
    ('\u{2028}', '\u{2028}', Newline, "LINE SEPARATOR"),
    ('\u{2029}', '\u{2029}', Newline, "PARAGRAPH SEPARATOR"),
    ('\u{202A}', '\u{202A}', BidiOverride, "LEFT-TO-RIGHT EMBEDDING"),
    ('\u{202B}', '\u{202B}', BidiOverride, "RIGHT-TO-LEFT EMBEDDING"),
    ('\u{202C}', '\u{202C}', BidiOverride, "POP DIRECTIONAL FORMATTING"),
    ('\u{202D}', '\u{202D}', BidiOverride, "LEFT-TO-RIGHT OVERRIDE"),
    ('\u{202E}', '\u{202E}', BidiOverride, "RIGHT-TO-LEFT OVERRIDE"),
    ('\u{202F}', '\u{202F}', Space, "NARROW NO-BREAK SPACE"),
    ('\u{205F}', '\u{205F}', Space, "MEDIUM MATHEMATICAL SPACE"),
    ('\u{2060}', '\u{2060}', ZeroWidth, "WORD JOINER"),
    ('\u{2061}', '\u{2061}', InvisibleMath, "FUNCTION APPLICATION"),
    ('\u{2062}', '\u{2062}', InvisibleMath, "INVISIBLE TIMES"),
    ('\u{2063}', '\u{2063}', InvisibleMath, "INVISIBLE SEPARATOR"),
    ('\u{2064}', '\u{2064}', InvisibleMath, "INVISIBLE PLUS"),
    ('\u{2065}', '\u{2065}', Noncharacter, "RESERVED INVISIBLE CODE POINT"),
    ('\u{2066}', '\u{2066}', BidiIsolate, "LEFT-TO-RIGHT ISOLATE"),
    ('\u{2067}', '\u{2067}', BidiIsolate, "RIGHT-TO-LEFT ISOLATE"),
    ('\u{2068}', '\u{2068}', BidiIsolate, "FIRST STRONG ISOLATE"),
    ('\u{2069}', '\u{2069}', BidiIsolate, "POP DIRECTIONAL ISOLATE"),
    ('\u{206A}', '\u{206A}', DeprecatedFormat, "INHIBIT SYMMETRIC SWAPPING"),
    ('\u{206B}', '\u{206B}', DeprecatedFormat, "ACTIVATE SYMMETRIC SWAPPING"),
    ('\u{206C}', '\u{206C}', DeprecatedFormat, "INHIBIT ARABIC FORM SHAPING"),
    ('\u{206D}', '\u{206D}', DeprecatedFormat, "ACTIVATE ARABIC FORM SHAPING"),
    ('\u{206E}', '\u{206E}', DeprecatedFormat, "NATIONAL DIGIT SHAPES"),
    ('\u{206F}', '\u{206F}', DeprecatedFormat, "NOMINAL DIGIT SHAPES"),
    ('\u{2800}', '\u{2800}', BrailleBlank, "BRAILLE PATTERN BLANK"),
    ('\u{3000}', '\u{3000}', Space, "IDEOGRAPHIC SPACE"),
    ('\u{3164}', '\u{3164}', HangulFiller, "HANGUL FILLER"),
    ('\u{E000}', '\u{F8FF}', PrivateUse, "PRIVATE USE CHARACTER"),
    ('\u{FDD0}', '\u{FDEF}', Noncharacter, "NONCHARACTER"),
    ('\u{FE00}', '\u{FE00}', VariationSelector, "VARIATION SELECTOR-1"),
    ('\u{FE01}', '\u{FE01}', VariationSelector, "VARIATION SELECTOR-2"),
    ('\u{FE02}', '\u{FE02}', VariationSelector, "VARIATION SELECTOR-3"),
    ('\u{FE03}', '\u{FE03}', VariationSelector, "VARIATION SELECTOR-4"),
    ('\u{FE04}', '\u{FE04}', VariationSelector, "VARIATION SELECTOR-5"),
    ('\u{FE05}', '\u{FE05}', VariationSelector, "VARIATION SELECTOR-6"),
    ('\u{FE06}', '\u{FE06}', VariationSelector, "VARIATION SELECTOR-7"),
    ('\u{FE07}', '\u{FE07}', VariationSelector, "VARIATION SELECTOR-8"),
    ('\u{FE08}', '\u{FE08}', VariationSelector, "VARIATION SELECTOR-9"),
    ('\u{FE09}', '\u{FE09}', VariationSelector, "VARIATION SELECTOR-10"),
    ('\u{FE0A}', '\u{FE0A}', VariationSelector, "VARIATION SELECTOR-11"),
    ('\u{FE0B}', '\u{FE0B}', VariationSelector, "VARIATION SELECTOR-12"),
    ('\u{FE0C}', '\u{FE0C}', VariationSelector, "VARIATION SELECTOR-13"),
    ('\u{FE0D}', '\u{FE0D}', VariationSelector, "VARIATION SELECTOR-14"),
    ('\u{FE0E}', '\u{FE0E}', VariationSelector, "VARIATION SELECTOR-15"),
    ('\u{FE0F}', '\u{FE0F}', VariationSelector, "VARIATION SELECTOR-16"),
    ('\u{FEFF}', '\u{FEFF}', Bom, "ZERO WIDTH NO-BREAK SPACE"),
    ('\u{FFA0}', '\u{FFA0}', HangulFiller, "HALFWIDTH HANGUL FILLER"),
    ('\u{FFF0}', '\u{FFF8}', Noncharacter, "RESERVED INVISIBLE CODE POINT"),
    ('\u{FFF9}', '\u{FFF9}', Annotation, "INTERLINEAR ANNOTATION ANCHOR"),
    ('\u{FFFA}', '\u{FFFA}', Annotation, "INTERLINEAR ANNOTATION SEPARATOR"),
    ('\u{FFFB}', '\u{FFFB}', Annotation, "INTERLINEAR ANNOTATION TERMINATOR"),
    ('\u{FFFC}', '\u{FFFC}', LostData, "OBJECT REPLACEMENT CHARACTER"),
    ('\u{FFFD}', '\u{FFFD}', LostData, "REPLACEMENT CHARACTER"),
    ('\u{FFFE}', '\u{FFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{110BD}', '\u{110BD}', PrependedMark, "KAITHI NUMBER SIGN"),
    ('\u{110CD}', '\u{110CD}', PrependedMark, "KAITHI NUMBER SIGN ABOVE"),
    ('\u{13430}', '\u{13430}', NotationFormat, "EGYPTIAN HIEROGLYPH VERTICAL JOINER"),
    ('\u{13431}', '\u{13431}', NotationFormat, "EGYPTIAN HIEROGLYPH HORIZONTAL JOINER"),
    ('\u{13432}', '\u{13432}', NotationFormat, "EGYPTIAN HIEROGLYPH INSERT AT TOP START"),
    ('\u{13433}', '\u{13433}', NotationFormat, "EGYPTIAN HIEROGLYPH INSERT AT BOTTOM START"),
    ('\u{13434}', '\u{13434}', NotationFormat, "EGYPTIAN HIEROGLYPH INSERT AT TOP END"),
    ('\u{13435}', '\u{13435}', NotationFormat, "EGYPTIAN HIEROGLYPH INSERT AT BOTTOM END"),
    ('\u{13436}', '\u{13436}', NotationFormat, "EGYPTIAN HIEROGLYPH OVERLAY MIDDLE"),
    ('\u{13437}', '\u{13437}', NotationFormat, "EGYPTIAN HIEROGLYPH BEGIN SEGMENT"),
    ('\u{13438}', '\u{13438}', NotationFormat, "EGYPTIAN HIEROGLYPH END SEGMENT"),
    ('\u{13439}', '\u{13439}', NotationFormat, "EGYPTIAN HIEROGLYPH INSERT AT MIDDLE"),
    ('\u{1343A}', '\u{1343A}', NotationFormat, "EGYPTIAN HIEROGLYPH INSERT AT TOP"),
    ('\u{1343B}', '\u{1343B}', NotationFormat, "EGYPTIAN HIEROGLYPH INSERT AT BOTTOM"),
    ('\u{1343C}', '\u{1343C}', NotationFormat, "EGYPTIAN HIEROGLYPH BEGIN ENCLOSURE"),
    ('\u{1343D}', '\u{1343D}', NotationFormat, "EGYPTIAN HIEROGLYPH END ENCLOSURE"),
    ('\u{1343E}', '\u{1343E}', NotationFormat, "EGYPTIAN HIEROGLYPH BEGIN WALLED ENCLOSURE"),
    ('\u{1343F}', '\u{1343F}', NotationFormat, "EGYPTIAN HIEROGLYPH END WALLED ENCLOSURE"),
    ('\u{1BCA0}', '\u{1BCA0}', NotationFormat, "SHORTHAND FORMAT LETTER OVERLAP"),
    ('\u{1BCA1}', '\u{1BCA1}', NotationFormat, "SHORTHAND FORMAT CONTINUING OVERLAP"),
    ('\u{1BCA2}', '\u{1BCA2}', NotationFormat, "SHORTHAND FORMAT DOWN STEP"),
    ('\u{1BCA3}', '\u{1BCA3}', NotationFormat, "SHORTHAND FORMAT UP STEP"),
    ('\u{1D173}', '\u{1D173}', NotationFormat, "MUSICAL SYMBOL BEGIN BEAM"),
    ('\u{1D174}', '\u{1D174}', NotationFormat, "MUSICAL SYMBOL END BEAM"),
    ('\u{1D175}', '\u{1D175}', NotationFormat, "MUSICAL SYMBOL BEGIN TIE"),
    ('\u{1D176}', '\u{1D176}', NotationFormat, "MUSICAL SYMBOL END TIE"),
    ('\u{1D177}', '\u{1D177}', NotationFormat, "MUSICAL SYMBOL BEGIN SLUR"),
    ('\u{1D178}', '\u{1D178}', NotationFormat, "MUSICAL SYMBOL END SLUR"),
    ('\u{1D179}', '\u{1D179}', NotationFormat, "MUSICAL SYMBOL BEGIN PHRASE"),
    ('\u{1D17A}', '\u{1D17A}', NotationFormat, "MUSICAL SYMBOL END PHRASE"),
    ('\u{1FFFE}', '\u{1FFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{2FFFE}', '\u{2FFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{3FFFE}', '\u{3FFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{4FFFE}', '\u{4FFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{5FFFE}', '\u{5FFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{6FFFE}', '\u{6FFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{7FFFE}', '\u{7FFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{8FFFE}', '\u{8FFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{9FFFE}', '\u{9FFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{AFFFE}', '\u{AFFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{BFFFE}', '\u{BFFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{CFFFE}', '\u{CFFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{DFFFE}', '\u{DFFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{E0000}', '\u{E0000}', Noncharacter, "RESERVED INVISIBLE CODE POINT"),
    ('\u{E0001}', '\u{E0001}', Tag, "LANGUAGE TAG"),
    ('\u{E0002}', '\u{E001F}', Noncharacter, "RESERVED INVISIBLE CODE POINT"),
    ('\u{E0020}', '\u{E007E}', Tag, "TAG CHARACTER"),
    ('\u{E007F}', '\u{E007F}', Tag, "CANCEL TAG"),
    ('\u{E0080}', '\u{E00FF}', Noncharacter, "RESERVED INVISIBLE CODE POINT"),
    ('\u{E0100}', '\u{E01EF}', VariationSelector, "SUPPLEMENTARY VARIATION SELECTOR"),
    ('\u{E01F0}', '\u{E0FFF}', Noncharacter, "RESERVED INVISIBLE CODE POINT"),
    ('\u{EFFFE}', '\u{EFFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{F0000}', '\u{FFFFD}', PrivateUse, "PRIVATE USE CHARACTER"),
    ('\u{FFFFE}', '\u{FFFFF}', Noncharacter, "NONCHARACTER"),
    ('\u{100000}', '\u{10FFFD}', PrivateUse, "PRIVATE USE CHARACTER"),
    ('\u{10FFFE}', '\u{10FFFF}', Noncharacter, "NONCHARACTER"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_apart() {
        for (first, last, _, name) in TABLE {
            assert!(first <= last, "{name}");
        }
        for pair in TABLE.windows(2) {
            assert!(pair[0].1 < pair[1].0, "{} and {}", pair[0].3, pair[1].3);
        }
    }

    #[test]
    fn every_code_point_has_a_name() {
        let listed = ('\0'..=char::MAX).filter(|c| class(*c).is_some());
        let mut count = 0;
        for c in listed {
            let name = name(c);
            assert!(!name.is_empty() && name != "CHARACTER", "{c:?}");
            assert!(
                name.chars()
                    .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || " -".contains(c)),
                "{name}"
            );
            count += 1;
        }
        assert!(count > 137_000, "private use alone is that many: {count}");
    }

    #[test]
    fn shortcuts_agree_with_the_rows() {
        let mut rows = TABLE.iter().peekable();
        for c in '\0'..=char::MAX {
            while rows.next_if(|row| row.1 < c).is_some() {}
            let found = rows.peek().filter(|row| row.0 <= c);
            assert_eq!(class(c), found.map(|row| row.2), "{c:?}");
        }
    }

    #[test]
    fn looks_up_borders() {
        assert_eq!(class('\u{200A}'), Some(Space));
        assert_eq!(class('\u{2010}'), None);
        assert_eq!(class('\u{E0001}'), Some(Tag));
        assert_eq!(class('\u{E0000}'), Some(Noncharacter));
        assert_eq!(class('\u{10FFFF}'), Some(Noncharacter));
        assert_eq!(class('\n'), None);
        assert_eq!(name('\u{E0041}'), "TAG CHARACTER");
    }
}
