//! Which added tokens of a vocabulary steer a model, and at which of them a text may be cut.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tokenizers::AddedToken;

/// A token that steers the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Control {
    pub(super) id: u32,
    /// Whether the texts on both sides of it are encoded independently, whatever they are.
    pub(super) seam: bool,
}

/// All tokens of a vocabulary that steer the model.
#[derive(Debug, Default)]
pub(super) struct Controls {
    by_text: BTreeMap<String, Control>,
    ids: BTreeSet<u32>,
}

/// What the vocabulary's normalizer does to text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Normalizer {
    /// Nothing, so tokens that are looked for in normalized text are found as they are written.
    Identity,
    /// Anything else. It may join the edge of such a token with the text beside it.
    Changes,
}

impl Controls {
    pub(super) fn find(added: &BTreeMap<u32, AddedToken>, normalizer: Normalizer) -> Self {
        let control = |(_, token): &(&u32, &AddedToken)| is_control(token);
        let texts: BTreeSet<&str> = added
            .iter()
            .filter(control)
            .map(|(_, token)| token.content.as_str())
            .collect();
        let shadowed = shadowed(&texts, added);
        let by_text = added.iter().filter(control).map(|(id, token)| {
            let seam = cuts_cleanly(token, normalizer)
                && !shadowed.contains(token.content.as_str())
                && !(token.normalized && overtaken(token, added));
            (token.content.clone(), Control { id: *id, seam })
        });
        Self {
            by_text: by_text.collect(),
            ids: added.iter().filter(control).map(|(id, _)| *id).collect(),
        }
    }

    pub(super) fn get(&self, text: &str) -> Option<Control> {
        self.by_text.get(text).copied()
    }

    pub(super) fn has_id(&self, id: u32) -> bool {
        self.ids.contains(&id)
    }

    /// Where control tokens are spelled out in `text`, in no order. Looks at every control token,
    /// so it is for the few files that need it.
    pub(super) fn spelled_in(&self, text: &str) -> impl Iterator<Item = Range<usize>> {
        self.by_text.keys().flat_map(move |control| {
            // Overlapping ones too, which `match_indices` leaves out.
            let first = text.find(control.as_str());
            let places = std::iter::successors(first, move |at| {
                let behind = at + control.chars().next().map_or(1, char::len_utf8);
                Some(behind + text.get(behind..)?.find(control.as_str())?)
            });
            places.map(move |at| at..at + control.len())
        })
    }
}

/// A special token, or one that is written like a tag.
///
/// Files disagree about the flag: some leave it off for the tokens that open a turn or a tool
/// call. Other added tokens are words and runs of blanks, which belong to text.
pub(super) fn is_control(token: &AddedToken) -> bool {
    let text = token.content.as_str();
    let tag = |open, close| text.starts_with(open) && text.ends_with(close) && text.len() > 2;
    !text.is_empty() && (token.special || tag('<', '>') || tag('[', ']'))
}

/// Whether the token takes nothing from its neighbours and gives them no reason to look across.
fn cuts_cleanly(token: &AddedToken, normalizer: Normalizer) -> bool {
    // Beside a letter, a neighbour that must be a word of its own would not be one; a blank
    // could be taken by a neighbour that strips.
    let closed = |c: char| !c.is_alphanumeric() && !c.is_whitespace() && c != '_';
    !token.lstrip
        && !token.rstrip
        && !token.single_word
        && (!token.normalized || normalizer == Normalizer::Identity)
        && token.content.starts_with(closed)
        && token.content.ends_with(closed)
}

/// The controls that are not always found where they stand: an added token may begin before one
/// and reach into it, or begin with it and be longer.
fn shadowed<'a>(
    controls: &BTreeSet<&'a str>,
    added: &'a BTreeMap<u32, AddedToken>,
) -> BTreeSet<&'a str> {
    let mut shadowed = BTreeSet::new();
    for token in added.values() {
        let text = token.content.as_str();
        for (start, _) in text.char_indices() {
            let Some(rest) = text.get(start..) else {
                continue;
            };
            if start > 0 {
                let reached = controls.range(rest..).take_while(|c| c.starts_with(rest));
                shadowed.extend(reached.copied());
            }
            let ends = rest.char_indices().map(|(end, _)| end);
            let within = ends.filter_map(|end| controls.get(rest.get(..end)?));
            shadowed.extend(within.copied());
            if start > 0 {
                shadowed.extend(controls.get(rest).copied());
            }
        }
    }
    shadowed
}

/// Whether a token that is looked for earlier, in text as written, can take a part of this one,
/// which is looked for in normalized text.
fn overtaken(token: &AddedToken, added: &BTreeMap<u32, AddedToken>) -> bool {
    let text = token.content.as_str();
    added
        .values()
        .filter(|other| !other.normalized)
        .any(|other| {
            let other = other.content.as_str();
            let mut starts = text
                .char_indices()
                .filter_map(|(start, _)| text.get(start..));
            starts.any(|rest| other.starts_with(rest) || rest.starts_with(other))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(content: &str) -> AddedToken {
        AddedToken {
            normalized: false,
            ..AddedToken::from(content, true)
        }
    }

    fn seams(tokens: &[AddedToken], normalizer: Normalizer) -> Vec<String> {
        let added = (0..).zip(tokens.iter().cloned()).collect();
        let controls = Controls::find(&added, normalizer);
        let seams = controls.by_text.into_iter().filter(|(_, c)| c.seam);
        seams.map(|(text, _)| text).collect()
    }

    #[test]
    fn only_tokens_that_stand_alone_are_seams() {
        let check = |tokens: &[AddedToken], expected: &[&str]| {
            assert_eq!(seams(tokens, Normalizer::Changes), expected, "{tokens:?}");
        };
        check(&[token("<a>"), token("<b>")], &["<a>", "<b>"]);
        check(&[token("<a>").lstrip(true)], &[]);
        check(&[token("<a>").rstrip(true)], &[]);
        check(&[token("<a>").single_word(true)], &[]);
        check(&[token("<a>").normalized(true)], &[]);
        // Letters and blanks at the edge concern neighbours.
        check(&[token("EOT"), token("<a> "), token("[b]")], &["[b]"]);
        // Reaches into `<a>`, contains it, is longer, or repeats itself.
        check(&[token("<a>"), token("x<a")], &[]);
        check(&[token("<a>"), token("x<a>x")], &[]);
        check(&[token("<a>"), token("<a>x")], &[]);
        check(&[token("<a><")], &[]);
        // Shorter, and inside: the longer and the earlier one win.
        check(&[token("<a>"), token("<"), token("[b]")], &["<a>", "[b]"]);
        check(&[token("<a>"), token("a")], &["<a>"]);
    }

    #[test]
    fn tokens_found_in_normalized_text_need_a_normalizer_that_does_nothing() {
        let tag = token("<a>").normalized(true);
        assert_eq!(
            seams(std::slice::from_ref(&tag), Normalizer::Identity),
            ["<a>"]
        );
        let inside = token("a>");
        assert!(!seams(&[tag, inside], Normalizer::Identity).contains(&"<a>".to_owned()));
    }

    #[test]
    fn tags_are_controls_whatever_the_flag_says() {
        let check = |content: &str, special, expected| {
            assert_eq!(
                is_control(&AddedToken::from(content, special)),
                expected,
                "{content}"
            );
        };
        check("<tool_call>", false, true);
        check("[INST]", false, true);
        check("<｜User｜>", false, true);
        check("EOT", true, true);
        check("\n\n", false, false);
        check("yesterday", false, false);
        check("<>", false, false);
    }
}
