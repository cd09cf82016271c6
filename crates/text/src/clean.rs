//! The pipeline: which steps run for which profile, in which order, until nothing changes.

use std::borrow::Cow;

use crate::crlf::Unix;
use crate::draft::Draft;
use crate::inspect::{Fences, Form, Seen, Verdict, look, sighting};
use crate::position::Cursor;
use crate::steps::{
    Edit, apply, drop_leading_blank_lines, end_with_newline, normalize, strip_line_ends,
};
use crate::{Action, Class, CleanError, Cleaned, Profile, Safety, Sighting, Step};

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
    if profile == Profile::Verbatim {
        return Ok(Cleaned {
            text: text.to_owned(),
            ..Cleaned::default()
        });
    }
    let Some(unix) = Unix::of(text) else {
        let done = Cleaning::new(text, profile, place).finish()?;
        let mut cursor = Cursor::new(text);
        let changes = done.edits.iter().map(|edit| edit.change(&mut cursor));
        return Ok(Cleaned {
            changes: changes.collect(),
            text: done.text.into_owned(),
            warnings: done.warnings,
        });
    };
    let back = |sighting| unix.sighting(sighting);
    let done = Cleaning::new(unix.text(), profile, place)
        .finish()
        .map_err(|error| CleanError {
            sightings: error.sightings.into_iter().map(back).collect(),
        })?;
    let changes = unix.changes(done.edits);
    let warnings = done.warnings.into_iter().map(back).collect();
    let text = match done.text {
        Cow::Owned(text) => text,
        // Only its end can have been cut, so it need not be copied.
        Cow::Borrowed(start) => {
            let length = start.len();
            unix.into_text(length)
        }
    };
    Ok(Cleaned {
        text,
        changes,
        warnings,
    })
}

/// A cleaned text, told in places of the text that cleaning was given.
struct Done<'a> {
    text: Cow<'a, str>,
    /// Sorted.
    edits: Vec<Edit>,
    warnings: Vec<Sighting>,
}

struct Cleaning<'a> {
    profile: Profile,
    place: Place,
    input: &'a str,
    draft: Draft<'a>,
    edits: Vec<Edit>,
}

impl<'a> Cleaning<'a> {
    fn new(input: &'a str, profile: Profile, place: Place) -> Self {
        Self {
            profile,
            place,
            input,
            draft: Draft::new(input),
            edits: Vec::new(),
        }
    }

    /// Runs rounds until one leaves nothing that another one could see.
    ///
    /// Taking a character away can let two others compose, and can take the context from a
    /// third; one more round sees that. Every round but the last takes away a character of the
    /// table, a space or a newline, or composes what the next round finds composed, and no
    /// step ever adds a character of the table: so there are at most some rounds more than
    /// characters, and in real text two.
    fn finish(mut self) -> Result<Done<'a>, CleanError> {
        let bound = 2 * self.input.len() + 4;
        let fences = match self.profile {
            Profile::Dynamic => Fences::Ignored,
            _ => Fences::Seen,
        };
        let mut warnings = Vec::new();
        for _ in 0..bound {
            let seen = look(self.draft.text(), fences, |action| {
                !matches!(action, Action::Keep | Action::Info)
            });
            self.refuse(&seen.verdicts)?;
            warnings = self.warnings(&seen.verdicts);
            let before = self.edits.len();
            self.round(&seen);
            let mut edits = self.edits.iter().skip(before);
            if edits.all(|edit| self.is_seen_by_nobody(edit)) {
                break;
            }
        }
        self.edits.sort_by_key(|edit| (edit.span, edit.step));
        Ok(Done {
            text: self.draft.into_text(),
            edits: self.edits,
            warnings,
        })
    }

    /// The steps, in order.
    fn round(&mut self, seen: &Seen) {
        let profile = self.profile;
        self.step(|draft| apply(draft, &seen.verdicts, |verdict| treatment(verdict, profile)));
        if profile == Profile::Dynamic {
            return;
        }
        if seen.form == Form::Unknown {
            self.step(normalize);
        }
        self.step(strip_line_ends);
        if self.place == Place::Following {
            self.step(drop_leading_blank_lines);
        }
        self.step(end_with_newline);
    }

    fn step(&mut self, step: impl FnOnce(&mut Draft<'_>) -> Vec<Edit>) {
        self.edits.append(&mut step(&mut self.draft));
    }

    /// Whether a change can neither give another character another context nor take away one that
    /// was warned of. A newline is one in each of its forms, and so is a line's end without
    /// spaces. A file from another system needs nothing else.
    fn is_seen_by_nobody(&self, edit: &Edit) -> bool {
        match edit.step {
            Step::Newline | Step::SegmentStart | Step::SegmentEnd => true,
            Step::TrailingSpace => {
                let taken = self.input.get(edit.span.start..edit.span.end);
                taken.is_some_and(|taken| taken.bytes().all(|byte| byte == b' '))
            }
            _ => false,
        }
    }

    /// Stops at characters that must not be there.
    fn refuse(&self, verdicts: &[Verdict]) -> Result<(), CleanError> {
        if self.profile == Profile::Dynamic {
            return Ok(());
        }
        let mut cursor = Cursor::new(self.input);
        let sightings: Vec<Sighting> = verdicts
            .iter()
            .filter(|verdict| verdict.action == Action::Error)
            .map(|verdict| sighting(verdict, &self.draft, &mut cursor))
            .collect();
        if sightings.is_empty() {
            return Ok(());
        }
        Err(CleanError { sightings })
    }

    /// What stays although somebody should look at it.
    fn warnings(&self, verdicts: &[Verdict]) -> Vec<Sighting> {
        let mut cursor = Cursor::new(self.input);
        verdicts
            .iter()
            .filter(|verdict| matches!(verdict.action, Action::Warn | Action::Error))
            .map(|verdict| Sighting {
                action: Action::Warn,
                ..sighting(verdict, &self.draft, &mut cursor)
            })
            .collect()
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
