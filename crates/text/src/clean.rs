//! The pipeline: which steps run for which profile, in which order, until nothing changes.

use crate::draft::Draft;
use crate::inspect::{Fences, Verdict, sighting, verdicts};
use crate::steps::{
    Edit, apply, drop_leading_blank_lines, end_with_newline, normalize, strip_line_ends,
};
use crate::{Action, Change, Class, CleanError, Cleaned, LineTable, Profile, Safety, Sighting};

/// Brings a text into its canonical form.
///
/// Cleaning twice is cleaning once. Line ends, spaces and the rest are handled as the
/// [`Profile`] says; every change is in [`Cleaned::changes`] with its place in `text`.
///
/// ```
/// use headwater_text::{Profile, clean};
///
/// let cleaned = clean("Be brief. \r\nCite\u{A0}sources.", Profile::Strict)?;
/// assert_eq!(cleaned.text, "Be brief.\nCite sources.\n");
/// assert_eq!(cleaned.changes.len(), 4);
/// # Ok::<(), headwater_text::CleanError>(())
/// ```
///
/// # Errors
/// In the strict profile, all characters that must not be in a prompt and that no program may
/// take away unasked: tags outside flags, bidi embeddings, overrides and isolates, NUL and
/// ESC, noncharacters, annotation marks, Hangul fillers without archaic jamo. The other
/// profiles never fail.
pub fn clean(text: &str, profile: Profile) -> Result<Cleaned, CleanError> {
    run(text, profile, Place::First)
}

/// [`clean`] for a segment that follows another one: in the strict profile its leading blank
/// lines go too.
///
/// The segment before ends with exactly one LF, so blank lines here would make two prompts of
/// the same words differ. Indentation of the first line that has words stays: it may be code,
/// YAML or a list.
///
/// ```
/// use headwater_text::{Profile, clean_following};
///
/// let cleaned = clean_following("\n\n    - a\n", Profile::Strict)?;
/// assert_eq!(cleaned.text, "    - a\n");
/// # Ok::<(), headwater_text::CleanError>(())
/// ```
///
/// # Errors
/// As [`clean`].
pub fn clean_following(text: &str, profile: Profile) -> Result<Cleaned, CleanError> {
    run(text, profile, Place::Following)
}

/// Where a segment stands among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    First,
    Following,
}

fn run(text: &str, profile: Profile, place: Place) -> Result<Cleaned, CleanError> {
    let canonical = match profile {
        Profile::Verbatim => true,
        Profile::Dynamic => text.bytes().all(is_harmless),
        Profile::Strict => is_plain(text, place),
    };
    if canonical {
        return Ok(Cleaned {
            text: text.to_owned(),
            ..Cleaned::default()
        });
    }
    Cleaning::new(text, profile, place).finish()
}

/// ASCII that the dynamic profile leaves alone and has nothing to say about.
fn is_harmless(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n')
}

/// ASCII that is canonical already, as nearly all of what an author sends the second time.
fn is_plain(text: &str, place: Place) -> bool {
    let bytes = text.as_bytes();
    let ended = matches!(bytes, [] | [.., b'!'..=b'~', b'\n']);
    let started = place == Place::First || bytes.first() != Some(&b'\n');
    ended && started && bytes.iter().copied().all(is_harmless) && !text.contains(" \n")
}

struct Cleaning {
    profile: Profile,
    place: Place,
    draft: Draft,
    table: LineTable,
    changes: Vec<Change>,
}

impl Cleaning {
    fn new(text: &str, profile: Profile, place: Place) -> Self {
        Self {
            profile,
            place,
            draft: Draft::new(text),
            table: LineTable::new(text),
            changes: Vec::new(),
        }
    }

    /// Runs rounds until one changes nothing.
    ///
    /// Taking a character away can let two others compose, and can take the context from a
    /// third; one more round sees that. Every round but the last takes away a character of the
    /// table, a space or a newline, or composes what the next round finds composed, and no
    /// step ever adds a character of the table: so there are at most some rounds more than
    /// characters, and in real text two.
    fn finish(mut self) -> Result<Cleaned, CleanError> {
        let bound = 2 * self.draft.chars().len() + 4;
        let fences = match self.profile {
            Profile::Dynamic => Fences::Ignored,
            _ => Fences::Seen,
        };
        let mut last = Vec::new();
        for _ in 0..bound {
            last = verdicts(self.draft.chars(), fences);
            self.refuse(&last)?;
            let before = self.changes.len();
            self.round(&last);
            if self.changes.len() == before {
                break;
            }
        }
        Ok(self.cleaned(&last))
    }

    /// The steps, in order.
    fn round(&mut self, verdicts: &[Verdict]) {
        let profile = self.profile;
        self.step(|draft| apply(draft, verdicts, |verdict| treatment(verdict, profile)));
        if profile == Profile::Dynamic {
            return;
        }
        self.step(normalize);
        self.step(strip_line_ends);
        if self.place == Place::Following {
            self.step(drop_leading_blank_lines);
        }
        self.step(end_with_newline);
    }

    fn step(&mut self, step: impl FnOnce(&mut Draft) -> Vec<Edit>) {
        let table = &self.table;
        self.changes
            .extend(step(&mut self.draft).into_iter().map(|edit| Change {
                step: edit.step,
                span: edit.span,
                position: table.position(edit.span.start),
                code_point: edit.code_point,
                action: edit.action,
            }));
    }

    /// Stops at characters that must not be there.
    fn refuse(&self, verdicts: &[Verdict]) -> Result<(), CleanError> {
        if self.profile == Profile::Dynamic {
            return Ok(());
        }
        let sightings: Vec<Sighting> = verdicts
            .iter()
            .filter(|verdict| verdict.action == Action::Error)
            .map(|verdict| sighting(verdict, &self.draft, &self.table))
            .collect();
        if sightings.is_empty() {
            return Ok(());
        }
        Err(CleanError { sightings })
    }

    fn cleaned(mut self, verdicts: &[Verdict]) -> Cleaned {
        let warnings = verdicts
            .iter()
            .filter(|verdict| matches!(verdict.action, Action::Warn | Action::Error))
            .map(|verdict| Sighting {
                action: Action::Warn,
                ..sighting(verdict, &self.draft, &self.table)
            })
            .collect();
        self.changes
            .sort_by_key(|change| (change.span, change.step));
        Cleaned {
            text: self.draft.text(),
            changes: self.changes,
            warnings,
        }
    }
}

/// What a profile does about a decision.
fn treatment(verdict: &Verdict, profile: Profile) -> Action {
    if profile != Profile::Dynamic {
        return verdict.action;
    }
    let dangerous = matches!(
        verdict.class,
        Class::Bom
            | Class::Tag
            | Class::BidiOverride
            | Class::BidiIsolate
            | Class::DangerousControl
    );
    match verdict.action {
        Action::Replace(_) if verdict.class == Class::Newline => verdict.action,
        Action::Remove if dangerous => Action::Remove,
        Action::Error if dangerous && verdict.safety != Safety::NoFix => Action::Remove,
        _ => Action::Keep,
    }
}
