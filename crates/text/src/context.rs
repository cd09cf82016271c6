//! What a character of the table means where it stands: one function a class, each with the
//! rule that it follows. This is the only place that decides.

use unicode_script::Script;

use crate::scene::{Feature, Math, Scene};
use crate::{Action, Class, Safety, script};

/// A decision with the trust that it deserves.
pub(crate) type Ruling = (Action, Safety);

const KEEP: Ruling = (Action::Keep, Safety::NoFix);
const REMOVE: Ruling = (Action::Remove, Safety::Safe);
const WARN: Ruling = (Action::Warn, Safety::NoFix);
const TO_SPACE: Ruling = (Action::Replace(" "), Safety::Unsafe);
/// An error that taking the character away would cure.
const FORBIDDEN: Ruling = (Action::Error, Safety::Unsafe);

/// What decides about the characters of a class.
pub(crate) enum Meaning {
    /// Nothing: it is the same everywhere, in code too.
    Fixed(Ruling),
    /// The rule, which asks the surroundings.
    InContext(fn(&Scene<'_>) -> Ruling),
}

/// The rule of each class. `before` is the byte before the character.
pub(crate) fn meaning(class: Class, before: Option<&u8>) -> Meaning {
    use Meaning::{Fixed, InContext};
    match class {
        Class::Newline => Fixed((Action::Replace("\n"), Safety::Safe)),
        Class::Bom => Fixed(REMOVE),
        Class::DeprecatedFormat | Class::SoftHyphen => InContext(|_| REMOVE),
        Class::ZeroWidth => InContext(|scene| keep_if(is_word_border(scene))),
        Class::NonJoiner => InContext(|scene| keep_if(does_part_letters(scene))),
        Class::Joiner => InContext(|scene| keep_if(does_join(scene))),
        Class::VariationSelector => InContext(|scene| keep_if(does_select(scene))),
        Class::BidiMark => InContext(|scene| keep_if(scene.line.has(Feature::RtlLetter))),
        Class::BidiOverride | Class::DangerousControl => Fixed(FORBIDDEN),
        Class::Annotation => InContext(|_| FORBIDDEN),
        Class::BidiIsolate => InContext(isolate),
        Class::InvisibleMath => InContext(|scene| keep_if(scene.math == Math::Inside)),
        Class::GraphemeJoiner => InContext(|scene| warn_unless(is_beside(scene, Script::Hebrew))),
        Class::HangulFiller => InContext(|scene| forbid_unless(is_in_jamo(scene))),
        Class::MongolianSeparator => InContext(|scene| keep_if(scene.follows_mongolian())),
        Class::BrailleBlank => InContext(|scene| warn_unless(scene.line.has(Feature::Braille))),
        Class::Tag => InContext(|scene| forbid_unless(is_in_flag(scene))),
        Class::Noncharacter => InContext(|_| (Action::Error, Safety::NoFix)),
        Class::KhmerVowel | Class::LostData => Fixed(WARN),
        Class::NotationFormat => {
            InContext(|scene| warn_unless(scene.line.has(Feature::of_notation(scene.this))))
        }
        Class::PrependedMark => Fixed(KEEP),
        Class::Control => InContext(|_| (Action::Remove, Safety::Unsafe)),
        Class::Tab if before != Some(&b' ') => Fixed(KEEP),
        Class::Tab => InContext(|scene| warn_unless(!scene.line.hides_in_indentation(scene.at))),
        Class::Space => InContext(space),
        Class::PrivateUse | Class::Typography => Fixed((Action::Info, Safety::NoFix)),
    }
}

/// Decides by a rule about the character at `scene.at`, which has the given class.
pub(crate) fn rule(class: Class, by: fn(&Scene<'_>) -> Ruling, scene: &Scene<'_>) -> Ruling {
    let ruling = by(scene);
    if scene.line.is_fenced() {
        return in_code(class, ruling);
    }
    ruling
}

/// Code is left alone, except for what deceives its reader or breaks a backend.
fn in_code(class: Class, ruling: Ruling) -> Ruling {
    match (class, ruling.0) {
        (Class::Tag | Class::BidiMark | Class::BidiIsolate, _) => ruling,
        (_, Action::Remove | Action::Replace(_) | Action::Error) => WARN,
        _ => ruling,
    }
}

fn keep_if(meant: bool) -> Ruling {
    if meant { KEEP } else { REMOVE }
}

fn warn_unless(meant: bool) -> Ruling {
    if meant { KEEP } else { WARN }
}

fn forbid_unless(meant: bool) -> Ruling {
    if meant { KEEP } else { FORBIDDEN }
}

/// U+200B shows where a word ends in scripts without spaces. U+2060 never says anything that
/// a model needs.
fn is_word_border(scene: &Scene<'_>) -> bool {
    scene.this == '\u{200B}'
        && scene.before().is_some_and(script::is_spaceless)
        && scene.after().is_some_and(script::is_spaceless)
}

/// UAX #31 contexts A1 and A2: between two letters that would join, or within an Indic word.
fn does_part_letters(scene: &Scene<'_>) -> bool {
    let Some(before) = scene.letter_before() else {
        return false;
    };
    // Kurdish and Persian: heh with a non-joiner is a letter of its own, also at a word's end.
    if before == '\u{0647}' {
        return true;
    }
    let Some(after) = scene.after() else {
        return false;
    };
    let joining = script::is_joining_letter(before) && script::is_joining_letter(after);
    let indic = script::is_indic(before)
        && script::is_indic(after)
        && (script::is_letter(after) || script::is_mark(after));
    joining || indic
}

/// UTS #51 sequences, and UAX #31 context B with the joining scripts.
fn does_join(scene: &Scene<'_>) -> bool {
    is_in_emoji(scene) || does_shape(scene)
}

fn is_in_emoji(scene: &Scene<'_>) -> bool {
    let mut kept = scene.kept.chars().rev();
    let base = match (kept.next(), kept.next()) {
        (Some(last), Some(base)) if last == '\u{FE0F}' || script::is_skin_tone(last) => Some(base),
        (last, _) => last,
    };
    base.is_some_and(script::is_pictograph) && scene.after().is_some_and(script::is_pictograph)
}

fn does_shape(scene: &Scene<'_>) -> bool {
    let Some(letter) = scene.letter_before() else {
        return scene.after().is_some_and(script::is_joining_letter);
    };
    // Bengali, Kannada and Sinhala also write it between a letter and the virama.
    let virama = scene.follows_virama() || scene.after().is_some_and(script::is_virama);
    script::is_joining_letter(letter) || (script::is_indic(letter) && virama)
}

/// Sequences that are standardised or registered. Others carry nothing but hidden bytes.
fn does_select(scene: &Scene<'_>) -> bool {
    let Some(base) = scene.before() else {
        return false;
    };
    match scene.this {
        '\u{FE0E}' | '\u{FE0F}' => {
            let keycap = matches!(base, '0'..='9' | '#' | '*');
            script::is_pictograph(base) || (keycap && scene.after() == Some('\u{20E3}'))
        }
        '\u{180B}'..='\u{180D}' | '\u{180F}' => {
            script::is(base, Script::Mongolian) && script::is_letter(base)
        }
        '\u{FE00}' if has_variant_one(base) => true,
        // Compatibility ideographs survive NFC in this spelling only.
        '\u{FE00}'..='\u{FE02}' | '\u{E0100}'..='\u{E01EF}' => script::is_ideograph(base),
        _ => false,
    }
}

/// Bases outside Han with a standardised variant: operators, Myanmar and Phags-pa letters.
fn has_variant_one(base: char) -> bool {
    let operator = matches!(base, '\u{2205}' | '\u{2229}'..='\u{22FF}' | '\u{2A00}'..='\u{2AFF}');
    let letter = script::is(base, Script::Myanmar) || script::is(base, Script::Phags_Pa);
    operator || (letter && script::is_letter(base))
}

/// A pair of isolates in a line with right-to-left letters is probably meant, so it is for the
/// author to take away; anything else is Trojan Source.
fn isolate(scene: &Scene<'_>) -> Ruling {
    if scene.line.has(Feature::RtlLetter) && scene.line.is_paired(scene.at) {
        return (Action::Error, Safety::NoFix);
    }
    FORBIDDEN
}

/// A filler stands for the missing half of an archaic syllable.
fn is_in_jamo(scene: &Scene<'_>) -> bool {
    let before = scene.before();
    let mut rest = scene.rest();
    let (after, after_next) = (rest.next(), rest.next());
    match scene.this {
        '\u{115F}' => match after {
            Some('\u{1160}') => after_next.is_some_and(is_final_jamo),
            after => after.is_some_and(is_vowel_jamo),
        },
        '\u{1160}' => match before {
            Some('\u{115F}') => after.is_some_and(is_final_jamo),
            before => before.is_some_and(is_initial_jamo),
        },
        _ => false,
    }
}

fn is_initial_jamo(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115E}' | '\u{A960}'..='\u{A97C}')
}

fn is_vowel_jamo(c: char) -> bool {
    matches!(c, '\u{1161}'..='\u{11A7}' | '\u{D7B0}'..='\u{D7C6}')
}

fn is_final_jamo(c: char) -> bool {
    matches!(c, '\u{11A8}'..='\u{11FF}' | '\u{D7CB}'..='\u{D7FB}')
}

/// A flag of a subdivision: black flag, country of two letters, one to four letters or digits
/// of the subdivision, cancel tag; nothing between them.
fn is_in_flag(scene: &Scene<'_>) -> bool {
    // NOTE: the text itself is read here, not what stays of it: a flag that only comes about
    // by taking something away was not written by anybody.
    let before = scene.text.get(..scene.at).unwrap_or_default();
    let nearest = before.char_indices().rev().take(8).enumerate();
    let flag = nearest.into_iter().find(|(_, (_, c))| *c == BLACK_FLAG);
    let Some((back, (flag, _))) = flag else {
        return false;
    };
    let tags = scene.text.get(flag..).unwrap_or_default().chars().skip(1);
    let tags: Vec<char> = tags.take(8).collect();
    let length = tags.iter().position(|c| *c == CANCEL_TAG).unwrap_or(0);
    let (country, subdivision) = tags[..length].split_at(length.min(2));
    (3..=6).contains(&length)
        && back <= length
        && country
            .iter()
            .all(|c| matches!(c, '\u{E0061}'..='\u{E007A}'))
        && subdivision
            .iter()
            .all(|c| matches!(c, '\u{E0030}'..='\u{E0039}' | '\u{E0061}'..='\u{E007A}'))
}

const BLACK_FLAG: char = '\u{1F3F4}';
const CANCEL_TAG: char = '\u{E007F}';

/// Spaces that a language writes stay; the others are typography.
fn space(scene: &Scene<'_>) -> Ruling {
    let meant = match scene.this {
        '\u{202F}' => is_narrow_space_meant(scene),
        '\u{3000}' => scene.line.has(Feature::Cjk),
        '\u{1680}' => scene.line.has(Feature::Ogham),
        _ => false,
    };
    if meant { KEEP } else { TO_SPACE }
}

/// French before high punctuation and inside quotation marks, groups of digits, Mongolian
/// suffixes.
fn is_narrow_space_meant(scene: &Scene<'_>) -> bool {
    let (before, after) = (scene.before(), scene.after());
    let french = matches!(after, Some('?' | '!' | ':' | ';' | '»' | '›'))
        || matches!(before, Some('«' | '‹'));
    let digits = before.is_some_and(script::is_digit) && after.is_some_and(script::is_digit);
    french
        || digits
        || scene.follows_mongolian()
        || after.is_some_and(|c| script::is(c, Script::Mongolian) && script::is_letter(c))
}

fn is_beside(scene: &Scene<'_>, script: Script) -> bool {
    let is = |c: Option<char>| c.is_some_and(|c| script::is(c, script));
    is(scene.before()) || is(scene.after())
}
