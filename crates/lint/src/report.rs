//! The findings of a whole run, and how they are written out.

mod json;
mod source_line;
mod text;

use crate::{
    finding::{Finding, Severity},
    suppression::Suppressed,
};

pub use self::{
    json::json,
    text::{Paint, text},
};

/// Findings and skipped inputs of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Every input that was judged, in the order in which it is to be reported.
    pub judged: Vec<Outcome>,
    /// Inputs that were not, in the same order.
    pub skipped: Vec<Skipped>,
}

/// What was found in one input.
#[derive(Debug)]
pub struct Outcome {
    /// Its path, as the user would write it.
    pub path: String,
    /// Its text, for excerpts.
    pub text: String,
    /// What was found, in the order of [`Linter::lint`](crate::Linter::lint).
    pub findings: Vec<Finding>,
    /// What was found and is taken away by a comment.
    pub suppressed: Vec<Suppressed>,
    /// What was seen and not followed, for a line at info level each.
    pub notes: Vec<headwater_template::Note>,
}

/// An input that was not judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its path.
    pub path: String,
    /// Why not.
    pub reason: String,
}

impl Report {
    /// How many findings there are.
    pub fn count(&self) -> usize {
        self.judged
            .iter()
            .map(|outcome| outcome.findings.len())
            .sum()
    }

    /// The worst severity that was found.
    pub fn worst(&self) -> Option<Severity> {
        let all = self.judged.iter().flat_map(|outcome| &outcome.findings);
        all.map(|finding| finding.severity).max()
    }

    /// Static tokens that every request computes again, an estimate.
    ///
    /// Values that stand ahead of the same text cost it once, so each input counts its dearest
    /// finding.
    pub fn lost_tokens(&self) -> usize {
        let dearest = |outcome: &Outcome| {
            let every_time = outcome.findings.iter().filter(|finding| {
                finding.severity > Severity::Info && finding.code.family().costs_every_request()
            });
            every_time
                .map(|finding| finding.cost_tokens)
                .max()
                .unwrap_or(0)
        };
        self.judged.iter().map(dearest).sum()
    }
}
