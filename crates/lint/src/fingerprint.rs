//! A name for a finding that stays the same while lines move around it.

use std::{collections::BTreeMap, fmt, str::FromStr};

use headwater_text::Span;

use crate::{finding::Finding, report::Outcome};

/// Names a finding inside its file by its rule and the text around it.
///
/// Findings of one rule in equal surroundings are told apart by their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 8]);

/// Characters of its lines that count, on either side of a finding. Files with one long line must not
/// lose all their names with every edit.
const CONTEXT_CHARS: usize = 40;

impl Fingerprint {
    fn new(rule: &str, surroundings: &str, nth: usize) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in [rule, surroundings, &nth.to_string()] {
            hasher.update(part.as_bytes());
            hasher.update(&[0]);
        }
        let mut bytes = [0; 8];
        hasher.finalize_xof().fill(&mut bytes);
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    fn from_str(text: &str) -> Result<Self, NotAFingerprint> {
        let is_right = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).map_err(|_| NotAFingerprint)?;
        is_right
            .then(|| Self(number.to_be_bytes()))
            .ok_or(NotAFingerprint)
    }
}

/// A text that is not 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAFingerprint;

impl fmt::Display for NotAFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected 16 hexadecimal digits")
    }
}

impl std::error::Error for NotAFingerprint {}

impl Outcome {
    /// The names of its findings, in their order.
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        self.names(self.findings.iter())
    }

    /// The names of findings of this outcome.
    pub(crate) fn names<'f>(
        &self,
        findings: impl Iterator<Item = &'f Finding>,
    ) -> Vec<Fingerprint> {
        let mut in_order: Vec<(usize, &Finding)> = findings.enumerate().collect();
        in_order.sort_by_key(|(_, finding)| finding.span);
        let mut seen: BTreeMap<(&str, String), usize> = BTreeMap::new();
        let mut named: Vec<(usize, Fingerprint)> = Vec::new();
        for (index, finding) in in_order {
            let near = surroundings(&self.text, finding.span);
            let nth = seen.entry((&finding.rule, near.clone())).or_default();
            *nth += 1;
            named.push((index, Fingerprint::new(&finding.rule, &near, *nth)));
        }
        named.sort_unstable_by_key(|(index, _)| *index);
        named.into_iter().map(|(_, name)| name).collect()
    }
}

/// The line of a span, near to it, with all white space alike. It looks no further than it needs to: a
/// file may be one line.
fn surroundings(text: &str, span: Span) -> String {
    let on_line = |c: &char| *c != '\n';
    let before = text[..span.start].chars().rev().take_while(on_line);
    let before: Vec<char> = before.take(CONTEXT_CHARS).collect();
    let behind = text[span.end..].chars().take_while(on_line);
    let near: String = before
        .into_iter()
        .rev()
        .chain(text[span.start..span.end].chars())
        .chain(behind.take(CONTEXT_CHARS))
        .collect();
    near.split_whitespace().collect::<Vec<_>>().join(" ")
}
