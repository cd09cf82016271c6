//! Writes the report.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal as _, Write as _},
};

use anyhow::Context as _;
use headwater_lint::{Paint, Report, RuleSet};

use super::arguments::{Args, Color, Format};

/// Columns of the report where the terminal does not say.
const DEFAULT_WIDTH: usize = 80;

/// The report in the form that was asked for.
pub(super) fn written(args: &Args, report: &Report, rules: &RuleSet) -> anyhow::Result<String> {
    let mut out = match args.format {
        Format::Text => headwater_lint::text(report, paint(args.color), width()),
        Format::Concise => headwater_lint::concise(report),
        Format::Github => headwater_lint::github(report),
        Format::Junit => headwater_lint::junit(report),
        Format::Markdown => headwater_lint::markdown(report),
        Format::Json => headwater_lint::json(report).context("cannot write JSON")?,
        Format::Sarif => headwater_lint::sarif(report, rules).context("cannot write SARIF")?,
        Format::Gitlab => headwater_lint::gitlab(report).context("cannot write JSON")?,
        Format::Rdjson => headwater_lint::rdjson(report).context("cannot write JSON")?,
    };
    if args.statistics && matches!(args.format, Format::Text | Format::Concise) {
        out.push_str(&statistics(report));
    }
    Ok(out)
}

/// Writes to standard output at once.
pub(crate) fn print(out: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(out.as_bytes())
        .context("cannot write the report")?;
    stdout.flush().context("cannot write the report")
}

/// A diff: as it is for a program, with what cannot be seen written out for people.
pub(super) fn diff(changes: &str) -> String {
    if !io::stdout().is_terminal() {
        return changes.to_owned();
    }
    let lines = changes.split_inclusive('\n');
    let shown = lines.map(|line| match line.strip_suffix('\n') {
        Some(line) => format!("{}\n", headwater_text::shown(line)),
        None => headwater_text::shown(line),
    });
    shown.collect()
}

fn paint(color: Color) -> Paint {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match color {
        Color::Always => Paint::Colour,
        Color::Auto if io::stdout().is_terminal() && !no_color => Paint::Colour,
        Color::Auto | Color::Never => Paint::Plain,
    }
}

fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    columns
        .and_then(|columns| columns.parse().ok())
        .unwrap_or(DEFAULT_WIDTH)
}

/// Findings by rule, the most frequent first; `[*]` where a fix can be applied.
fn statistics(report: &Report) -> String {
    let findings = report.judged.iter().flat_map(|outcome| &outcome.findings);
    let mut counts = BTreeMap::new();
    for finding in findings {
        let count: &mut (usize, usize) = counts.entry((&finding.code, &finding.rule)).or_default();
        count.0 += 1;
        count.1 += usize::from(finding.fix.is_some());
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    rows.iter()
        .map(|((code, rule), (count, fixable))| {
            let mark = if *fixable > 0 { " [*]" } else { "" };
            format!("{count:5}  {code} {rule}{mark}\n")
        })
        .collect()
}
