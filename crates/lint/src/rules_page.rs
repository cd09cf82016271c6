//! All rules as one page of Markdown.

use std::fmt::Write as _;

use headwater_text::shown;

use crate::{
    rule::{Example, Family, Rule, Scope},
    rule_set::RuleSet,
};

/// The page `docs/rules.md`: a table of all rules, then each with what, why, examples and fix.
pub fn rules_markdown(rules: &RuleSet) -> String {
    let mut page = String::from(
        "# Rules\n\nMade from `lint-rules/*.yaml` by `headwater rules --format markdown`; a test keeps the two equal. \
         [Adding a rule](adding-a-rule.md) takes five minutes.\n\n",
    );
    let _ = writeln!(page, "There are {} rules.", rules.rules().len());
    for family in Family::ALL {
        let of_family = || {
            let all = rules.rules().iter();
            all.filter(move |rule| rule.code.family() == family)
        };
        if of_family().next().is_none() {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(page, "\n## {}\n", family.title());
        page.push_str("| code | rule | severity | fix | finds |\n|---|---|---|---|---|\n");
        for rule in of_family() {
            let fix = rule.fix.map_or("–", |fix| fix.safety.as_str());
            let severity = rule.severity.as_str();
            let (code, id) = (&rule.code, &rule.id);
            let _ = writeln!(
                page,
                "| {code} | [{id}](#{id}) | {severity} | {fix} | {} |",
                cell(&rule.summary)
            );
        }
        for rule in of_family() {
            describe(&mut page, rule);
        }
    }
    page
}

fn describe(page: &mut String, rule: &Rule) {
    let _ = writeln!(page, "\n### {}\n", rule.id);
    let _ = write!(page, "{} · {}", rule.code, rule.severity.as_str());
    if rule.applies_to != Scope::Any {
        let _ = write!(page, " · {} only", rule.applies_to.as_str());
    }
    let _ = writeln!(page, "\n\n**What.** {}", text(&rule.summary));
    let _ = writeln!(page, "\n**Why it costs.** {}", text(&rule.why));
    let _ = write!(page, "\n**Fix.** {}", text(&rule.help));
    if let Some(fix) = rule.fix {
        let flag = match fix.safety {
            crate::Safety::Safe => "`--fix`",
            crate::Safety::Unsafe => "`--unsafe-fixes`",
        };
        let _ = write!(page, " Done by {flag} (`{}`).", fix.kind.as_str());
    }
    page.push('\n');
    for example in &rule.examples {
        code(page, "Bad", &example.bad, example);
        code(page, "Good", &example.good, example);
        let fixed = example.fixed.as_ref();
        if let Some(fixed) = fixed.filter(|fixed| **fixed != example.good) {
            code(page, "Fixed", fixed, example);
        }
    }
}

/// An example with its invisible characters written out.
fn code(page: &mut String, heading: &str, source: &str, example: &Example) {
    let language = match example.path.rsplit_once('.') {
        Some((_, "json")) => "json",
        Some((_, "md")) => "markdown",
        Some((_, "yaml")) => "yaml",
        _ => "jinja",
    };
    let _ = write!(page, "\n{heading}:\n\n````{language}\n");
    for line in shown(source).lines() {
        let _ = writeln!(page, "{}", cut(line));
    }
    page.push_str("````\n");
}

/// A long line of a request says no more at its full length.
fn cut(line: &str) -> String {
    const MOST: usize = 160;
    let mut cut: String = line.chars().take(MOST).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    cut.trim_end().to_owned()
}

/// Markup in a sentence of a rule is meant as it stands.
fn text(sentence: &str) -> String {
    sentence.trim().replace('<', "\\<")
}

fn cell(sentence: &str) -> String {
    text(sentence).replace('|', "\\|")
}
