//! One walk over a text that decides about every character of the table. Linting and cleaning
//! both start here, so they can never disagree.

use crate::context::{Meaning, Ruling, meaning, rule};
use crate::draft::Draft;
use crate::layout::{Layout, newline_length};
use crate::plain::odd;
use crate::position::Cursor;
use crate::scene::{LineFacts, Math, REACH, Scene};
use crate::steps::composes;
use crate::{Action, Class, Safety, Sighting, table};

/// Everything of the table that a text holds, with the decision of its context, in order.
///
/// Characters that stay because they are meant ([`Action::Keep`]) are among them; a caller
/// that wants trouble only asks for the others. The decisions are those of
/// [`Profile::Strict`](crate::Profile::Strict). Trailing spaces, the newline at the end and
/// form NFC are no single characters and are not reported here.
///
/// ```
/// use headwater_text::{Action, inspect};
///
/// let seen = inspect("Refund pol\u{200B}icy of the 👩\u{200D}🍳");
/// assert_eq!(seen[0].to_string(), "1:11: ⟨U+200B⟩ ZERO WIDTH SPACE");
/// assert_eq!(seen[0].action, Action::Remove);
/// assert_eq!(seen[1].action, Action::Keep, "it joins two emoji");
/// ```
#[must_use]
pub fn inspect(text: &str) -> Vec<Sighting> {
    let draft = Draft::new(text);
    let mut cursor = Cursor::new(text);
    look(text, Fences::Seen, |_| true)
        .verdicts
        .iter()
        .map(|verdict| sighting(verdict, &draft, &mut cursor))
        .collect()
}

/// A decision about the bytes at `at .. at + length` of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) at: usize,
    pub(crate) length: usize,
    /// The first of its characters.
    pub(crate) code_point: char,
    pub(crate) class: Class,
    pub(crate) action: Action,
    pub(crate) safety: Safety,
}

/// Whether fenced code is spared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fences {
    Seen,
    /// Text from outside is not spared by writing three backticks.
    Ignored,
}

/// A verdict with its place in the text that a draft was made from.
pub(crate) fn sighting(verdict: &Verdict, draft: &Draft<'_>, cursor: &mut Cursor<'_>) -> Sighting {
    let span = draft.origin(verdict.at, verdict.length);
    Sighting {
        span,
        position: cursor.position(span.start),
        code_point: verdict.code_point,
        class: verdict.class,
        action: verdict.action,
        safety: verdict.safety,
    }
}

/// What one walk over a text found.
pub(crate) struct Seen {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) form: Form,
}

/// What is known about form NFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The text has it, also when characters are taken from it.
    Nfc,
    Unknown,
}

/// Decides about every character of the table, from left to right, and gives back the decisions
/// that are `wanted`.
///
/// What was decided already is the context for what follows; what follows is read as it is.
pub(crate) fn look(text: &str, fences: Fences, wanted: impl Fn(Action) -> bool) -> Seen {
    let mut seen = Seen {
        verdicts: Vec::new(),
        form: Form::Nfc,
    };
    let mut walk = Walk::new(text, fences);
    for (at, c) in odd(text) {
        if seen.form == Form::Nfc && composes(c) {
            seen.form = Form::Unknown;
        }
        let Some(class) = table::class(c) else {
            continue;
        };
        let verdict = walk.decide(at, c, class);
        if wanted(verdict.action) {
            seen.verdicts.push(verdict);
        }
    }
    seen
}

/// A walk over a text, with what is known at the place that it has reached.
struct Walk<'a> {
    text: &'a str,
    fences: Fences,
    layout: Layout<'a>,
    line: Option<LineFacts<'a>>,
    kept: Kept<'a>,
    /// Up to the last character of mathematics.
    math: Math,
    math_end: usize,
}

impl<'a> Walk<'a> {
    fn new(text: &'a str, fences: Fences) -> Self {
        Self {
            text,
            fences,
            layout: Layout::new(text),
            line: None,
            kept: Kept {
                text,
                done: 0,
                tail: String::new(),
            },
            math: Math::Outside,
            math_end: 0,
        }
    }

    fn decide(&mut self, at: usize, c: char, class: Class) -> Verdict {
        let bytes = self.text.as_bytes();
        let length = match class {
            Class::Newline => newline_length(&bytes[at..]),
            _ => c.len_utf8(),
        };
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let (action, safety) = match meaning(class, before) {
            Meaning::Fixed(ruling) => ruling,
            Meaning::InContext(by) => self.ask(at, c, class, by),
        };
        match action {
            Action::Remove => self.kept.replace(at, length, ""),
            Action::Replace(with) => self.kept.replace(at, length, with),
            _ => {}
        }
        Verdict {
            at,
            length,
            code_point: c,
            class,
            action,
            safety,
        }
    }

    fn ask(&mut self, at: usize, c: char, class: Class, by: fn(&Scene<'_>) -> Ruling) -> Ruling {
        if class == Class::InvisibleMath {
            self.look_for_math(at);
        }
        if self.line.as_ref().is_some_and(|line| !line.has_byte(at)) {
            self.line = None;
        }
        let line = self.line.get_or_insert_with(|| {
            let mut line = self.layout.line_at(at);
            line.fenced &= self.fences == Fences::Seen;
            LineFacts::new(self.text, line)
        });
        let scene = Scene {
            text: self.text,
            at,
            this: c,
            kept: self.kept.before(at),
            line,
            math: self.math,
        };
        rule(class, by, &scene)
    }

    fn look_for_math(&mut self, at: usize) {
        let passed = self.text.get(self.math_end..at).unwrap_or_default();
        self.math_end = at;
        match (passed.rfind("<math"), passed.rfind("</math")) {
            (None, None) => {}
            (start, end) if start > end => self.math = Math::Inside,
            _ => self.math = Math::Outside,
        }
    }
}

/// What stays of the text before a place: its end, as far as anybody looks back.
struct Kept<'a> {
    text: &'a str,
    /// Bytes of the text that have been looked at.
    done: usize,
    tail: String,
}

impl Kept<'_> {
    /// What stays before a place, which must not be before the last one.
    fn before(&mut self, at: usize) -> &str {
        let passed = self.text.get(self.done..at).unwrap_or_default();
        self.done = self.done.max(at);
        if passed.len() >= REACH {
            self.tail.clear();
        } else if self.tail.len() > 8 * REACH {
            let end = self.tail.ceil_char_boundary(self.tail.len() - REACH);
            self.tail.drain(..end);
        }
        let reached = passed.ceil_char_boundary(passed.len().saturating_sub(REACH));
        self.tail.push_str(&passed[reached..]);
        &self.tail
    }

    fn replace(&mut self, at: usize, length: usize, with: &str) {
        self.before(at);
        self.tail.push_str(with);
        self.done = at + length;
    }
}
