//! Findings that are known and accepted: a file that takes them out of later runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    fingerprint::Fingerprint,
    report::{Outcome, Report},
    rule_file::FileError,
};

/// Known findings, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    known: BTreeMap<String, BTreeSet<Fingerprint>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineFile {
    version: u32,
    findings: Vec<KnownFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownFile {
    path: String,
    rule: String,
    fingerprint: String,
}

impl Baseline {
    /// The baseline that takes all findings of a report out, as JSON with one finding a line.
    ///
    /// # Errors
    /// None in practice: every part can be serialized.
    pub fn write(report: &Report) -> std::io::Result<String> {
        let mut lines = Vec::new();
        for outcome in &report.judged {
            let named = outcome.findings.iter().zip(outcome.fingerprints());
            for (finding, fingerprint) in named {
                let known = KnownFile {
                    path: outcome.path.clone(),
                    rule: finding.rule.clone(),
                    fingerprint: fingerprint.to_string(),
                };
                lines.push(format!("    {}", serde_json::to_string(&known)?));
            }
        }
        // In the order of paths and rules, so that two branches merge well.
        lines.sort();
        let findings = lines.join(",\n");
        Ok(match findings.as_str() {
            "" => "{\n  \"version\": 1,\n  \"findings\": []\n}\n".to_owned(),
            _ => format!("{{\n  \"version\": 1,\n  \"findings\": [\n{findings}\n  ]\n}}\n"),
        })
    }

    /// Reads a baseline.
    ///
    /// # Errors
    /// The JSON is not a baseline of version 1; the error names the place.
    pub fn parse(json: &str, origin: &str) -> Result<Self, FileError> {
        let error = |line: usize, column: usize, message: String| FileError {
            origin: origin.to_owned(),
            position: headwater_text::Position {
                line: line.max(1),
                column: column.max(1),
            },
            message,
        };
        let file: BaselineFile = serde_json::from_str(json).map_err(|e| {
            let words = e.to_string();
            let words = words.split(" at line ").next().unwrap_or(&words);
            error(e.line(), e.column(), words.to_owned())
        })?;
        if file.version != 1 {
            let message = format!(
                "version {}: expected 1; write it anew with --write-baseline",
                file.version
            );
            return Err(error(1, 1, message));
        }
        let mut known: BTreeMap<String, BTreeSet<Fingerprint>> = BTreeMap::new();
        for each in file.findings {
            let fingerprint = each
                .fingerprint
                .parse()
                .map_err(|e| error(1, 1, format!("fingerprint `{}`: {e}", each.fingerprint)))?;
            known.entry(each.path).or_default().insert(fingerprint);
        }
        Ok(Self { known })
    }

    /// Takes known findings out of an outcome and says how many there were.
    pub fn apply(&self, outcome: &mut Outcome) -> usize {
        let Some(known) = self.known.get(&outcome.path) else {
            return 0;
        };
        let before = outcome.findings.len();
        let mut names = outcome.fingerprints().into_iter();
        outcome
            .findings
            .retain(|_| names.next().is_none_or(|name| !known.contains(&name)));
        before - outcome.findings.len()
    }
}
