//! Rules that find what breaks the prefix cache in a prompt template.
//!
//! ```text
//! Template ─► Linter (rules × pieces) ─► [Finding] ─► text | JSON
//! ```
//!
//! A rule is one YAML file in `lint-rules/`. It names what it looks for with one `match` out of a closed
//! set, says why it costs, and carries examples that are run as tests. All knowledge about names (which
//! variable is a clock) is in those files.
//!
//! ```
//! use headwater_lint::{Linter, RuleSet};
//! use headwater_template::{Dialect, Source, Template};
//!
//! let source = Source::from_bytes(b"Now: {{ now }}\nYou are a clerk who answers politely.").unwrap();
//! let template = Template::parse(source, Dialect::Jinja);
//! let linter = Linter::new(RuleSet::builtin().unwrap());
//! let findings = linter.lint(&template);
//! assert_eq!(findings[0].code.as_str(), "HW201");
//! assert_eq!(findings[0].position.to_string(), "1:9");
//! ```
//!
//! It never reads a file, prints, renders a template, counts real tokens (its costs are estimates of four
//! bytes a token) or asks the network.

mod baseline;
mod characters;
mod code;
mod config;
mod declared;
mod duplicate;
mod explain;
mod finding;
mod fingerprint;
mod fix;
mod fix_rule;
mod fixer;
mod history;
mod include;
mod input;
mod json_order;
mod line_ends;
mod linter;
mod lookalikes;
mod marker;
mod matcher;
mod names;
mod normalization;
mod pattern;
mod reordered;
mod repair;
mod report;
mod request;
mod rule;
mod rule_file;
mod rule_set;
mod rules_page;
mod seam;
mod search;
mod suppression;
mod turn;
mod unknown;
mod volatile;
mod work;

pub use headwater_template::{Note, NoteKind, Volatility, may_hold_prompts};
pub use headwater_text::{Position, Span};

pub use crate::{
    baseline::Baseline,
    config::{Config, Override},
    explain::{explain, list},
    finding::{Finding, Related, Severity, estimate_tokens},
    fingerprint::{Fingerprint, NotAFingerprint},
    fix::{Edit, Fix},
    fix_rule::{FixKind, FixRule, Safety},
    input::{Checked, Input, MAX_INPUT_BYTES},
    linter::Linter,
    repair::{Repair, Repaired, apply_fixes},
    report::{
        Outcome, Paint, Report, Skipped, TokenCount, concise, github, gitlab, json, junit,
        markdown, rdjson, rule_markdown, sarif, text,
    },
    rule::{Code, Example, Family, Rule, Scope},
    rule_file::FileError,
    rule_set::{RuleSet, UnknownRule},
    rules_page::rules_markdown,
    suppression::Suppressed,
};
