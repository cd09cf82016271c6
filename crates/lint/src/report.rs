//! The findings of a whole run, and how they are written out.

mod concise;
mod github;
mod gitlab;
mod json;
mod junit;
mod markdown;
mod rdjson;
mod sarif;
mod source_line;
mod text;

use crate::{
    finding::{Finding, Severity},
    fix_rule::Safety,
    suppression::Suppressed,
};

pub use self::{
    concise::concise,
    github::github,
    gitlab::gitlab,
    json::json,
    junit::junit,
    markdown::markdown,
    rdjson::rdjson,
    sarif::{rule_markdown, sarif},
    text::{Paint, text},
};

/// Findings and skipped inputs of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Every input that was judged, in the order in which it is to be reported.
    pub judged: Vec<Outcome>,
    /// Inputs that were not, in the same order.
    pub skipped: Vec<Skipped>,
    /// How many findings a baseline took out.
    pub in_baseline: usize,
    /// How tokens were counted.
    pub tokens: TokenCount,
    /// What stands before a relative path to make it one from the root of the repository: empty, or a
    /// folder that ends with `/`. For formats that want such paths.
    pub prefix: String,
}

/// How the costs of findings were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenCount {
    /// Four bytes a token.
    #[default]
    Estimated,
    /// By a tokenizer.
    Counted,
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

    /// How many findings of a severity there are.
    pub fn count_of(&self, severity: Severity) -> usize {
        let all = self.judged.iter().flat_map(|outcome| &outcome.findings);
        all.filter(|finding| finding.severity == severity).count()
    }

    /// How many findings can be repaired by fixes of that safety alone.
    pub fn fixable(&self, safety: Safety) -> usize {
        let all = self.judged.iter().flat_map(|outcome| &outcome.findings);
        let fixes = all.filter_map(|finding| finding.fix.as_ref());
        fixes.filter(|fix| fix.safety == safety).count()
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
