//! Applies fixes to a file until there is nothing left to fix, and keeps only what makes it better.

use std::collections::BTreeMap;

use crate::{
    finding::{Finding, Severity},
    fix::{Edit, Fix},
    fix_rule::Safety,
    input::{Checked, Input},
    linter::Linter,
    report::Outcome,
};

/// A file after its repair.
#[derive(Debug)]
#[non_exhaustive]
pub struct Repair {
    /// What it now holds.
    pub text: String,
    /// What is still found in it.
    pub outcome: Outcome,
    /// Fixes that were applied, in the order in which they were.
    pub applied: Vec<Repaired>,
    /// Fixes that were tried and would not have left the file better.
    pub dropped: Vec<Repaired>,
}

/// A fix that was applied or tried.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// What it repairs. Its places are those of the text at the time.
    pub finding: Finding,
    /// What the fix does.
    pub title: String,
    /// Why it was dropped; empty if it was applied.
    pub reason: String,
}

/// Each round makes findings fewer or cheaper; this many are never needed.
const MAX_ROUNDS: usize = 50;
/// Fixes that do not go together are tried one by one, each at the price of a whole check.
const MAX_TRIES: usize = 200;

impl Linter {
    /// Checks a file and repairs it with all fixes up to `safety`. None if it cannot be judged.
    ///
    /// Fixes of one round are applied in the order of the file; one that overlaps an earlier one waits
    /// for the next round. The text is parsed and checked again after every round. Repairing twice is
    /// repairing once.
    pub fn repair(&self, input: &Input<'_>, safety: Safety) -> Option<Repair> {
        let Checked::Judged(outcome) = self.check_input(input) else {
            return None;
        };
        let mut repair = Repair {
            text: outcome.text.clone(),
            outcome,
            applied: Vec::new(),
            dropped: Vec::new(),
        };
        let mut tries = MAX_TRIES;
        for _ in 0..MAX_ROUNDS {
            repair.dropped.clear();
            if !self.round(input, safety, &mut repair, &mut tries) {
                break;
            }
        }
        Some(repair)
    }

    /// Applies what can be applied at once; false if that is nothing.
    ///
    /// All fixes together, else each half of them on top of what was accepted, down to single ones: few
    /// bad fixes among many cost few checks.
    fn round(
        &self,
        input: &Input<'_>,
        safety: Safety,
        repair: &mut Repair,
        tries: &mut usize,
    ) -> bool {
        let base = repair.text.clone();
        let mut groups = vec![without_overlap(&repair.outcome.findings, safety)];
        let mut accepted: Vec<Finding> = Vec::new();
        while let Some(mut group) = groups.pop() {
            if group.is_empty() {
                continue;
            }
            let attempt = match *tries {
                0 => Err("too many fixes of this file do not go together".to_owned()),
                _ => {
                    *tries -= 1;
                    let fixes = accepted.iter().chain(&group);
                    let text = apply_fixes(&base, fixes.filter_map(|each| each.fix.as_ref()));
                    self.better(input, text, &repair.outcome)
                }
            };
            match attempt {
                Ok((text, outcome)) => {
                    (repair.text, repair.outcome) = (text, outcome);
                    repair.applied.extend(group.iter().map(|f| repaired(f, "")));
                    accepted.append(&mut group);
                }
                Err(reason) if group.len() == 1 => {
                    repair
                        .dropped
                        .extend(group.iter().map(|f| repaired(f, &reason)));
                }
                Err(_) => {
                    let later = group.split_off(group.len() / 2);
                    groups.extend([later, group]);
                }
            }
        }
        !accepted.is_empty()
    }

    /// What is found in the text; an error says why that is not better than before.
    fn better(
        &self,
        input: &Input<'_>,
        text: String,
        before: &Outcome,
    ) -> Result<(String, Outcome), String> {
        let again = Input {
            bytes: text.as_bytes(),
            ..*input
        };
        let outcome = match self.check_input(&again) {
            Checked::Judged(outcome) => outcome,
            Checked::Unreadable(reason) => {
                return Err(format!("the file would not parse: {reason}"));
            }
            _ => return Err("the file would not be a template any more".to_owned()),
        };
        let (was, is) = (counts(before), counts(&outcome));
        let new = is
            .iter()
            .find(|(rule, now)| now.0 > was.get(*rule).unwrap_or(&(0, 0)).0);
        if let Some((rule, _)) = new {
            return Err(format!("it would cause another finding, {rule}"));
        }
        if weight(&outcome) >= weight(before) {
            return Err("the finding would stay".to_owned());
        }
        Ok((text, outcome))
    }
}

/// A text with the edits of fixes that do not overlap.
pub fn apply_fixes<'f>(text: &str, fixes: impl IntoIterator<Item = &'f Fix>) -> String {
    let mut edits: Vec<&Edit> = fixes.into_iter().flat_map(|fix| &fix.edits).collect();
    edits.sort_by_key(|edit| edit.span);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        // A span that does not fit is another text's.
        let Some(between) = text.get(at..edit.span.start) else {
            continue;
        };
        out.push_str(between);
        out.push_str(&edit.replacement);
        at = edit.span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Findings with a fix up to `safety`, in the order of the file, without those that overlap an earlier
/// one.
fn without_overlap(findings: &[Finding], safety: Safety) -> Vec<Finding> {
    let mut fixable: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.fix.as_ref().is_some_and(|fix| fix.safety <= safety))
        .collect();
    fixable.sort_by_key(|finding| (finding.span, &finding.code));
    let mut taken: Vec<Edit> = Vec::new();
    let mut chosen = Vec::new();
    for finding in fixable {
        let Some(fix) = &finding.fix else { continue };
        if !fix
            .edits
            .iter()
            .any(|edit| taken.iter().any(|other| overlap(edit, other)))
        {
            taken.extend(fix.edits.iter().cloned());
            chosen.push(finding.clone());
        }
    }
    chosen
}

/// Two insertions at one place overlap: which comes first would be chance.
fn overlap(a: &Edit, b: &Edit) -> bool {
    let touch = a.span.start == b.span.start;
    touch || (a.span.start < b.span.end && b.span.start < a.span.end)
}

/// How many findings each rule has, and what they cost. What is only worth knowing may come to light
/// when a fault is gone, and is no fault of the fix.
fn counts(outcome: &Outcome) -> BTreeMap<&str, (usize, usize)> {
    let mut counts = BTreeMap::new();
    let faults = outcome.findings.iter();
    for finding in faults.filter(|finding| finding.severity > Severity::Info) {
        let count: &mut (usize, usize) = counts.entry(finding.rule.as_str()).or_default();
        count.0 += 1;
        count.1 += finding.cost_bytes;
    }
    counts
}

/// Faults and their cost, then the rest and its cost. Every accepted fix makes it less.
fn weight(outcome: &Outcome) -> [usize; 4] {
    let mut weight = [0; 4];
    for finding in &outcome.findings {
        let at = if finding.severity > Severity::Info {
            0
        } else {
            2
        };
        weight[at] += 1;
        weight[at + 1] += finding.cost_bytes;
    }
    weight
}

fn repaired(finding: &Finding, reason: &str) -> Repaired {
    Repaired {
        finding: finding.clone(),
        title: finding.fix.as_ref().map_or("", |fix| &fix.title).to_owned(),
        reason: reason.to_owned(),
    }
}
