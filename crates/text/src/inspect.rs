//! One walk over a text that decides about every character of the table. Linting and cleaning
//! both start here, so they can never disagree.

use crate::context::rule;
use crate::draft::Draft;
use crate::layout::{lines, newline_length};
use crate::scene::{LineFacts, Math, Scene};
use crate::{Action, Class, LineTable, Safety, Sighting, table};

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
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        return Vec::new();
    }
    let draft = Draft::new(text);
    let table = LineTable::new(text);
    verdicts(draft.chars(), Fences::Seen)
        .iter()
        .map(|verdict| sighting(verdict, &draft, &table))
        .collect()
}

/// A decision about the characters at `at .. at + length` of a draft.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) at: usize,
    pub(crate) length: usize,
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
pub(crate) fn sighting(verdict: &Verdict, draft: &Draft, table: &LineTable) -> Sighting {
    let span = draft.origin(verdict.at, verdict.length);
    Sighting {
        span,
        position: table.position(span.start),
        code_point: draft.chars()[verdict.at],
        class: verdict.class,
        action: verdict.action,
        safety: verdict.safety,
    }
}

/// Decides about every character of the table, from left to right.
///
/// What was decided already is the context for what follows; what follows is read as it is.
pub(crate) fn verdicts(chars: &[char], fences: Fences) -> Vec<Verdict> {
    let mut walk = Walk {
        chars,
        kept: Vec::with_capacity(chars.len()),
        math: Math::Outside,
        verdicts: Vec::new(),
    };
    for mut line in lines(chars) {
        line.fenced &= fences == Fences::Seen;
        let facts = LineFacts::new(chars, line);
        for at in line.start..line.end {
            walk.step(at, 1, &facts);
        }
        if let Some(length) = chars
            .get(line.end)
            .map(|_| newline_length(&chars[line.end..]))
        {
            walk.step(line.end, length, &facts);
        }
    }
    walk.verdicts
}

struct Walk<'a> {
    chars: &'a [char],
    kept: Vec<char>,
    math: Math,
    verdicts: Vec<Verdict>,
}

impl Walk<'_> {
    fn step(&mut self, at: usize, length: usize, line: &LineFacts<'_>) {
        let c = self.chars[at];
        let Some(class) = table::class(c) else {
            self.look_for_math(at);
            self.kept.push(c);
            return;
        };
        let (action, safety) = rule(
            class,
            &Scene {
                chars: self.chars,
                at,
                kept: &self.kept,
                line,
                math: self.math,
            },
        );
        match action {
            Action::Remove => {}
            Action::Replace(with) => self.kept.extend(with.chars()),
            _ => self.kept.push(c),
        }
        self.verdicts.push(Verdict {
            at,
            length,
            class,
            action,
            safety,
        });
    }

    fn look_for_math(&mut self, at: usize) {
        match &self.chars[at..] {
            ['<', 'm', 'a', 't', 'h', ..] => self.math = Math::Inside,
            ['<', '/', 'm', 'a', 't', 'h', ..] => self.math = Math::Outside,
            _ => {}
        }
    }
}
