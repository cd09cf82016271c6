//! One template through all rules.

use std::collections::BTreeSet;

use headwater_template::{SourceFile, Template};

use crate::{
    characters,
    code::Code,
    duplicate,
    finding::Finding,
    history, include, json_order, line_ends, lookalikes, marker,
    matcher::{MarkerFault, Matcher},
    names::{NameTable, Namer},
    normalization, reordered, request,
    rule::Family,
    rule_set::{RuleSet, UnknownRule},
    seam, search,
    suppression::{self, Suppressed},
    turn, unknown, volatile,
};

/// Applies rules to templates.
#[derive(Clone, Debug)]
pub struct Linter {
    rules: RuleSet,
    names: NameTable,
    /// Ids of the rules whose findings are wanted. All rules judge all the same: which one names a
    /// fault does not depend on what is shown.
    shown: BTreeSet<String>,
}

impl Linter {
    /// A linter with these rules.
    pub fn new(rules: RuleSet) -> Self {
        let shown = ids(&rules);
        let names = NameTable::new(rules.rules());
        Self {
            rules,
            names,
            shown,
        }
    }

    /// Shows the findings of the rules that `select` names (all if empty) and `ignore` does not.
    ///
    /// # Errors
    /// A name is neither an id, a code, nor the start of one.
    pub fn choosing(mut self, select: &[String], ignore: &[String]) -> Result<Self, UnknownRule> {
        self.shown = ids(&self.rules.clone().choose(select, ignore)?);
        Ok(self)
    }

    /// The rules.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// Everything that the rules find, the most expensive first, then in order of the source.
    ///
    /// A fault is reported once, by the first rule that names it. A value is reported at its first
    /// place; the message lists the lines of the others.
    pub fn lint(&self, template: &Template) -> Vec<Finding> {
        let file = template.source().file();
        self.settle(file, std::iter::once(template), self.find(template))
            .0
    }

    /// Takes out what comments suppress and what is not to be shown, and sorts the rest.
    pub(crate) fn settle<'t>(
        &self,
        file: &SourceFile,
        templates: impl Iterator<Item = &'t Template>,
        findings: Vec<Finding>,
    ) -> (Vec<Finding>, Vec<Suppressed>) {
        let suppressions = suppression::read(file, templates);
        let rules = self.rules.rules();
        let (mut kept, mut suppressed) = suppression::apply(rules, file, suppressions, findings);
        kept.retain(|finding| self.shown.contains(&finding.rule));
        suppressed.retain(|each| self.shown.contains(&each.finding.rule));
        kept.sort_by(Finding::by_cost);
        (kept, suppressed)
    }

    /// Everything that the rules find, in no order.
    pub(crate) fn find(&self, template: &Template) -> Vec<Finding> {
        let rules = self.rules.rules();
        let namer = Namer::new(rules, &self.names, template);
        let code = Code::read(template);
        let volatile = volatile::find(&namer, &code);
        let reordered = reordered::find(rules, template, &volatile.pieces);
        let mut findings = Vec::new();
        findings.extend(unknown::find(&namer, template, &volatile, &reordered));
        findings.extend(unknown::forks(&namer, template, &volatile));
        findings.extend(seam::find(&namer, template, &volatile.pieces));
        findings.extend(history::find(&namer, &code, &volatile));
        findings.extend(volatile.findings);
        findings.extend(reordered.findings);
        findings.extend(include::find(rules, &code));
        findings.extend(search::find(rules, &code));
        findings.extend(turn::find(rules, &code));
        findings.extend(duplicate::find(rules, &code));
        findings.extend(json_order::find(rules, template));
        findings.extend(characters::find(rules, template));
        findings.extend(lookalikes::find(rules, template));
        findings.extend(line_ends::find(rules, template));
        findings.extend(normalization::find(rules, template));
        findings.extend(marker::find(rules, template));
        findings.extend(request::find(rules, template));
        findings.retain(|finding| self.is_about(finding, template));
        self.drop_explained(&mut findings);
        findings
    }
}

impl Linter {
    /// A marker on a block with a time in it says about the time what there is to say.
    fn drop_explained(&self, findings: &mut Vec<Finding>) {
        let matcher = |finding: &Finding| {
            let mut rules = self.rules.rules().iter();
            let rule = rules.find(|rule| rule.id == finding.rule);
            rule.map(|rule| (&rule.matcher, rule.code.family()))
        };
        let is_marker = |finding: &Finding| {
            matches!(
                matcher(finding),
                Some((Matcher::Marker(MarkerFault::Volatile), _))
            )
        };
        if findings.iter().any(is_marker) {
            let is_literal = |finding: &Finding| {
                matches!(matcher(finding), Some((Matcher::Text(_), Family::Values)))
            };
            findings.retain(|finding| !is_literal(finding));
        }
    }

    fn is_about(&self, finding: &Finding, template: &Template) -> bool {
        let mut rules = self.rules.rules().iter();
        rules
            .find(|rule| rule.id == finding.rule)
            .is_none_or(|rule| rule.applies_to.holds(template))
    }
}

fn ids(rules: &RuleSet) -> BTreeSet<String> {
    rules.rules().iter().map(|rule| rule.id.clone()).collect()
}
