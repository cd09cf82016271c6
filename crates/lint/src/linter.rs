//! One template through all rules.

use std::collections::BTreeSet;

use headwater_template::{SourceFile, Template};

use crate::{
    characters,
    finding::Finding,
    newlines, normalization, reordered,
    rule_set::{RuleSet, UnknownRule},
    seam,
    suppression::{self, Suppressed},
    volatile,
};

/// Applies rules to templates.
#[derive(Clone, Debug)]
pub struct Linter {
    rules: RuleSet,
    /// Ids of the rules whose findings are wanted. All rules judge all the same: which one names a
    /// fault does not depend on what is shown.
    shown: BTreeSet<String>,
}

impl Linter {
    /// A linter with these rules.
    pub fn new(rules: RuleSet) -> Self {
        let shown = ids(&rules);
        Self { rules, shown }
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
        templates: impl Iterator<Item = &'t Template> + Clone,
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
        let volatile = volatile::find(rules, template);
        let reordered = reordered::find(rules, template, &volatile.pieces);
        let mut findings = volatile::find_unknown(rules, template, &volatile, &reordered);
        findings.extend(seam::find(rules, template, &volatile.pieces));
        findings.extend(volatile.findings);
        findings.extend(reordered.findings);
        findings.extend(characters::find(rules, template));
        findings.extend(newlines::find(rules, template));
        findings.extend(normalization::find(rules, template));
        findings
    }
}

fn ids(rules: &RuleSet) -> BTreeSet<String> {
    rules.rules().iter().map(|rule| rule.id.clone()).collect()
}
