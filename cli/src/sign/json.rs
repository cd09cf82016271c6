//! The JSON form of `headwater sign`, described field by field by its structs.

use headwater::text::Action;
use headwater::{BorderReport, Padding, Reuse, Risk, RungReport, SegmentReport};
use serde::Serialize;
use serde_json::{Map, Value};

use super::report::{Report, code_point, warning};

/// Format `json`, version 1: members are added, never renamed.
#[derive(Serialize)]
struct Json<'a> {
    text: &'a str,
    /// Absent for a prompt without roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Value>,
    tokens: u32,
    /// Whole blocks.
    blocks: u32,
    block_size: u32,
    tokenizer: &'a str,
    fingerprint: String,
    segments: Vec<JsonSegment>,
    borders: Vec<JsonBorder>,
    rungs: Vec<JsonRung>,
    reuse: JsonReuse,
    paddings: Vec<JsonPadding>,
    risks: Vec<JsonRisk>,
    changes: Vec<JsonChange>,
    warnings: Vec<String>,
    headers: Map<String, Value>,
}

#[derive(Serialize)]
struct JsonSegment {
    segment: usize,
    name: Option<String>,
    volatility: &'static str,
    bytes: usize,
    tokens: u32,
    changes: usize,
}

/// A border's name is `static end`, `semi-static end` or `turn 3`, from 0.
#[derive(Serialize)]
struct JsonBorder {
    border: String,
    byte: usize,
    tokens: u32,
    stable_tokens: u32,
    aligned_tokens: u32,
}

#[derive(Serialize)]
struct JsonRung {
    blocks: u32,
    hash: String,
    tokens: u32,
    /// Names of borders, or `ladder`.
    stands_for: Vec<String>,
}

#[derive(Serialize)]
struct JsonReuse {
    same_template_tokens: u32,
    same_tenant_tokens: u32,
    same_conversation_tokens: u32,
}

#[derive(Serialize)]
struct JsonPadding {
    segment: usize,
    stable_tokens: u32,
    /// Null if no number of newlines reaches a block border.
    newlines: Option<usize>,
    aligned_tokens: u32,
}

/// Line and column are those of the canonical text. Null counts are not known without the
/// model's tokenizer.
#[derive(Serialize)]
struct JsonRisk {
    segment: usize,
    line: usize,
    column: usize,
    kind: &'static str,
    unstable_tokens: Option<u32>,
    lost_tokens: Option<u32>,
}

/// Line and column are those of the segment's text, from 1.
#[derive(Serialize)]
struct JsonChange {
    segment: usize,
    line: usize,
    column: usize,
    step: &'static str,
    action: &'static str,
    /// `U+200B`; null where something was inserted.
    code_point: Option<String>,
}

impl Report<'_> {
    /// One object, for programs.
    pub(crate) fn json(&self) -> anyhow::Result<String> {
        let report = self.signed.report();
        let headers = self.headers().into_iter();
        let json = Json {
            text: self.signed.text(),
            messages: self.signed.messages_json(),
            tokens: report.tokens,
            blocks: report.blocks,
            block_size: report.block.get(),
            tokenizer: self.tokenizer,
            fingerprint: self.signed.signature().fingerprint().to_string(),
            segments: report.segments.iter().map(segment).collect(),
            borders: report.borders.iter().map(border).collect(),
            rungs: report.rungs.iter().map(rung).collect(),
            reuse: reuse(report.reuse),
            paddings: report.paddings.iter().map(padding).collect(),
            risks: report.risks.iter().map(risk).collect(),
            changes: report.changes.iter().map(change).collect(),
            warnings: report.warnings.iter().map(warning).collect(),
            headers: headers
                .map(|(name, value)| (name, Value::String(value)))
                .collect(),
        };
        Ok(serde_json::to_string_pretty(&json)? + "\n")
    }
}

fn segment(report: &SegmentReport) -> JsonSegment {
    JsonSegment {
        segment: report.segment.index,
        name: report.segment.name.clone(),
        volatility: report.segment.volatility.as_str(),
        bytes: report.bytes,
        tokens: report.tokens,
        changes: report.changes,
    }
}

fn border(report: &BorderReport) -> JsonBorder {
    JsonBorder {
        border: report.border.to_string(),
        byte: report.byte,
        tokens: report.tokens,
        stable_tokens: report.stable_tokens,
        aligned_tokens: report.aligned_tokens,
    }
}

fn rung(report: &RungReport) -> JsonRung {
    JsonRung {
        blocks: report.blocks,
        hash: report.hash.to_string(),
        tokens: report.tokens,
        stands_for: report.stands_for.iter().map(ToString::to_string).collect(),
    }
}

fn reuse(reuse: Reuse) -> JsonReuse {
    JsonReuse {
        same_template_tokens: reuse.same_template_tokens,
        same_tenant_tokens: reuse.same_tenant_tokens,
        same_conversation_tokens: reuse.same_conversation_tokens,
    }
}

fn padding(padding: &Padding) -> JsonPadding {
    JsonPadding {
        segment: padding.segment.index,
        stable_tokens: padding.stable_tokens,
        newlines: padding.newlines,
        aligned_tokens: padding.aligned_tokens,
    }
}

fn risk(risk: &Risk) -> JsonRisk {
    JsonRisk {
        segment: risk.segment.index,
        line: risk.position.line,
        column: risk.position.column,
        kind: risk.kind.as_str(),
        unstable_tokens: risk.unstable_tokens,
        lost_tokens: risk.lost_tokens,
    }
}

fn change(change: &headwater::Change) -> JsonChange {
    let headwater::Change {
        segment, change, ..
    } = change;
    JsonChange {
        segment: *segment,
        line: change.position.line,
        column: change.position.column,
        step: change.step.as_str(),
        action: Action::as_str(change.action),
        code_point: change.code_point.map(code_point),
    }
}
