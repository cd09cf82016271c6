//! The report for people: source lines with carets, then one line that sums up.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use headwater_text::{LineTable, Position, shown};

use super::{Outcome, Report, TokenCount, source_line::source_line};
use crate::{
    finding::{Finding, Severity},
    fix_rule::Safety,
};

/// Whether colours are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Plain text.
    Plain,
    /// ANSI colours.
    Colour,
}

/// The whole report, `width` columns wide.
pub fn text(report: &Report, paint: Paint, width: usize) -> String {
    let renderer = match paint {
        Paint::Plain => Renderer::plain(),
        Paint::Colour => Renderer::styled(),
    };
    let renderer = renderer.term_width(width);
    let mut out = String::new();
    for outcome in &report.judged {
        for finding in &outcome.findings {
            let cost = cost(finding, report.tokens);
            out.push_str(&excerpt(&renderer, outcome, finding, (width, cost)));
            out.push_str("\n\n");
        }
    }
    for outcome in &report.judged {
        out.push_str(&notes(outcome));
    }
    for skipped in &report.skipped {
        out.push_str(&format!(
            "skipped {}: {}\n",
            shown(&skipped.path),
            shown(&skipped.reason)
        ));
    }
    if let Some(hint) = fix_hint(report) {
        out.push_str(&hint);
        out.push('\n');
    }
    out.push_str(&summary(report));
    out.push('\n');
    out
}

fn excerpt(
    renderer: &Renderer,
    outcome: &Outcome,
    finding: &Finding,
    (width, cost): (usize, Option<String>),
) -> String {
    let line = source_line(&outcome.text, finding.span, width);
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let path = shown(&outcome.path);
    let shown_column = line.text[..line.mark.start].chars().count() + 1;
    let snippet = Snippet::source(line.text.as_str())
        .path(path.as_str())
        .line_start(finding.position.line)
        .annotation(AnnotationKind::Primary.span(line.mark).label(cost));
    let title = level
        .primary_title(finding.message.as_str())
        .id(finding.code.as_str());
    let group = Group::with_title(title)
        .element(snippet)
        .element(Level::HELP.message(finding.help.as_str()));
    // The renderer counts columns in the line as it is shown; a reader wants those of the file.
    let Position { line, column } = finding.position;
    renderer.render(&[group]).replacen(
        &format!("{path}:{line}:{shown_column}"),
        &format!("{path}:{line}:{column}"),
        1,
    )
}

fn cost(finding: &Finding, counted: TokenCount) -> Option<String> {
    let about = about(counted);
    match finding.cost_tokens {
        0 => None,
        n if finding.code.family().costs_every_request() => {
            Some(format!("{about}{n} static {} behind this", tokens(n)))
        }
        n => Some(format!("{about}{n} {} at risk", tokens(n))),
    }
}

/// An estimate says that it is one.
fn about(counted: TokenCount) -> &'static str {
    match counted {
        TokenCount::Estimated => "about ",
        TokenCount::Counted => "",
    }
}

fn tokens(n: usize) -> &'static str {
    if n == 1 { "token" } else { "tokens" }
}

/// What was seen and not followed.
fn notes(outcome: &Outcome) -> String {
    let lines = LineTable::new(&outcome.text);
    let notes = outcome.notes.iter().map(|note| {
        let at = lines.position(note.span.start);
        let (path, words) = (shown(&outcome.path), shown(&note.message));
        format!("note: {path}:{at}: {words}\n")
    });
    notes.collect()
}

fn fix_hint(report: &Report) -> Option<String> {
    let (safe, other) = (report.fixable(Safety::Safe), report.fixable(Safety::Unsafe));
    match (safe, other) {
        (0, 0) => None,
        (0, n) => Some(format!(
            "{n} fixable with --unsafe-fixes (--diff shows how)"
        )),
        (n, 0) => Some(format!("{n} fixable with --fix (--diff shows how)")),
        (safe, all) => Some(format!(
            "{safe} fixable with --fix, {} with --unsafe-fixes (--diff shows how)",
            safe + all
        )),
    }
}

/// One line: files, findings, what was left out, and the tokens that could be cached and are not.
pub(crate) fn summary(report: &Report) -> String {
    let files = plural(report.judged.len(), "file");
    let mut line = match report.count() {
        0 => format!("{files} checked, no findings"),
        n => format!("{files} checked, {}", plural(n, "finding")),
    };
    if !report.skipped.is_empty() {
        line.push_str(&format!(", {} skipped", report.skipped.len()));
    }
    let suppressed: usize = report.judged.iter().map(|o| o.suppressed.len()).sum();
    if suppressed > 0 {
        line.push_str(&format!(", {suppressed} suppressed"));
    }
    if report.in_baseline > 0 {
        line.push_str(&format!(", {} in the baseline", report.in_baseline));
    }
    match report.lost_tokens() {
        0 => {}
        n => line.push_str(&format!(
            "; {}{n} static {} could be cached and are not ({})",
            about(report.tokens),
            tokens(n),
            match report.tokens {
                TokenCount::Estimated => "4 bytes a token",
                TokenCount::Counted => "by the tokenizer given",
            }
        )),
    }
    line
}

fn plural(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}
