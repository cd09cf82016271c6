//! Which rule names a variable or function: all patterns of all rules in one pass, each name once.

use std::{cell::RefCell, collections::HashMap, sync::OnceLock};

use headwater_template::{Atom, AtomKind, Expression, Template, Volatility};
use regex::{RegexSet, RegexSetBuilder};

use crate::{
    matcher::{Grain, Matcher},
    pattern::snake_case,
    rule::Rule,
};

/// Patterns of all rules about values.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameTable {
    variables: Owned,
    functions: Owned,
}

/// Patterns, each behind the index of the rule that it belongs to.
#[derive(Clone, Debug, Default)]
struct Owned {
    patterns: Vec<(usize, String)>,
    /// Compiled when the first name is asked for.
    set: OnceLock<RegexSet>,
}

impl NameTable {
    /// Gathers the patterns of `rules`; the table then speaks of rules by their index.
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let mut variables = Vec::new();
        let mut functions = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            if let Matcher::Value(value) = &rule.matcher {
                variables.extend(value.names.iter().map(|pattern| (index, pattern.source())));
                functions.extend(
                    value
                        .functions
                        .iter()
                        .map(|pattern| (index, pattern.source())),
                );
            }
        }
        Self {
            variables: Owned::new(variables),
            functions: Owned::new(functions),
        }
    }
}

impl Owned {
    fn new(patterns: Vec<(usize, String)>) -> Self {
        Self {
            patterns,
            set: OnceLock::new(),
        }
    }

    fn set(&self) -> &RegexSet {
        // Reading a rule has compiled every pattern alone within its limit, so that together they
        // have none to keep.
        let compile = || {
            RegexSetBuilder::new(self.patterns.iter().map(|(_, source)| source))
                .size_limit(usize::MAX)
                .dfa_size_limit(1 << 24)
                .build()
                .unwrap_or_default()
        };
        self.set.get_or_init(compile)
    }

    /// The first rule with a pattern for one name of the path, or for the path with `_` between names.
    fn owner(&self, kind: AtomKind, path: &str) -> Option<usize> {
        let path = snake_case(path);
        let first = |name: &str| {
            let matches = self.set().matches(name).into_iter();
            matches.map(|pattern| self.patterns[pattern].0).min()
        };
        let whole = first(&path.replace('.', "_"));
        if !path.contains('.') {
            return whole;
        }
        // What is called is the last name: `random.sample()` is no `random()`.
        let called = kind != AtomKind::Variable;
        let skipped = if called { path.matches('.').count() } else { 0 };
        let names = path.split('.').skip(skipped);
        names.filter_map(first).chain(whole).min()
    }
}

/// The table for one template; remembers what was asked.
pub(crate) struct Namer<'a> {
    pub(crate) rules: &'a [Rule],
    template: &'a Template,
    table: &'a NameTable,
    known: [RefCell<HashMap<String, Option<usize>>>; 2],
}

impl<'a> Namer<'a> {
    pub(crate) fn new(rules: &'a [Rule], table: &'a NameTable, template: &'a Template) -> Self {
        Self {
            rules,
            template,
            table,
            known: Default::default(),
        }
    }

    /// The rule that names the volatility of a value, and the part of it that is volatile.
    ///
    /// What is declared counts more than a name, and a name says more about a dynamic value than the
    /// declaration does.
    pub(crate) fn classify<'e>(&self, value: &'e Expression) -> Option<(&'a Rule, &'e Atom)> {
        let named = value
            .atoms
            .iter()
            .filter_map(|atom| Some((self.owner(atom)?, atom)))
            .min_by_key(|(rule, _)| *rule);
        if let Some((rule, atom)) = named {
            return Some((self.grained(rule, atom, value), atom));
        }
        let of = |volatility| self.declared(value, volatility);
        of(Volatility::Dynamic).or_else(|| of(Volatility::SemiStatic))
    }

    /// The rule that names a function.
    pub(crate) fn function(&self, atom: &Atom) -> Option<&'a Rule> {
        let owner = (atom.kind == AtomKind::Function).then(|| self.owner(atom))?;
        owner.map(|rule| &self.rules[rule])
    }

    fn owner(&self, atom: &Atom) -> Option<usize> {
        let (owned, known) = match atom.kind {
            AtomKind::Variable => {
                let declared = self.template.volatility(atom);
                if declared.is_some_and(|volatility| volatility != Volatility::Dynamic) {
                    return None;
                }
                (&self.table.variables, &self.known[0])
            }
            AtomKind::Function | AtomKind::Method => (&self.table.functions, &self.known[1]),
            AtomKind::Filter => return None,
        };
        if let Some(owner) = known.borrow().get(&atom.path) {
            return *owner;
        }
        let owner = owned.owner(atom.kind, &atom.path);
        known.borrow_mut().insert(atom.path.clone(), owner);
        owner
    }

    /// The rule for the grain in which a clock is printed: a date alone changes once a day.
    fn grained(&self, index: usize, atom: &Atom, value: &Expression) -> &'a Rule {
        let rule = &self.rules[index];
        let Some(own) = grain(rule) else {
            return rule;
        };
        let printed = self
            .grain_of_format(atom, value)
            .filter(|printed| *printed != own);
        let Some(printed) = printed else {
            return rule;
        };
        let other = self.rules.iter().find(|rule| grain(rule) == Some(printed));
        other.unwrap_or(rule)
    }

    /// What a format beside the clock prints, if there is one.
    fn grain_of_format(&self, clock: &Atom, value: &Expression) -> Option<Grain> {
        let makes_day = |atom: &Atom| {
            matches!(atom.kind, AtomKind::Method | AtomKind::Function)
                && matches!(atom.name.as_str(), "date" | "toordinal" | "isocalendar")
        };
        if value.atoms.iter().any(makes_day) {
            return Some(Grain::Day);
        }
        let text = self.template.source().text();
        let start = value.atoms.iter().map(|atom| atom.span.start).min()?;
        let end = value.atoms.iter().map(|atom| atom.span.end).max()?;
        // A value that came through `set` has its parts in several places.
        let span = if value.atoms.iter().any(|atom| atom.derived) {
            clock.span.start..clock.span.end
        } else {
            start..end
        };
        format_grain(text.get(span)?)
    }

    fn declared<'e>(
        &self,
        value: &'e Expression,
        volatility: Volatility,
    ) -> Option<(&'a Rule, &'e Atom)> {
        let is_for = |rule: &&Rule| matches!(&rule.matcher, Matcher::Value(value) if value.declared == Some(volatility));
        let rule = self.rules.iter().find(is_for)?;
        Some((rule, self.template.declared(value, volatility)?))
    }
}

fn grain(rule: &Rule) -> Option<Grain> {
    match &rule.matcher {
        Matcher::Value(value) => value.grain,
        _ => None,
    }
}

/// The grain of the first string in an expression that is a format of dates.
fn format_grain(code: &str) -> Option<Grain> {
    let mut rest = code;
    while let Some(open) = rest.find(['"', '\'']) {
        let quote = &rest[open..=open];
        let behind = &rest[open + 1..];
        let close = behind.find(quote)?;
        if let Some(grain) = grain_of(&behind[..close]) {
            return Some(grain);
        }
        rest = &behind[close + 1..];
    }
    None
}

/// `%d %b %Y` is a day, `%H:%M` and `HH:mm` are moments, anything else is no format.
fn grain_of(format: &str) -> Option<Grain> {
    let has = |marks: &[&str]| marks.iter().any(|mark| format.contains(mark));
    if format.contains('%') {
        if has(&[
            "%H", "%M", "%S", "%s", "%f", "%T", "%X", "%c", "%p", "%I", "%R", "%-H", "%-I", "%r",
        ]) {
            return Some(Grain::Moment);
        }
        return has(&[
            "%Y", "%y", "%m", "%b", "%B", "%d", "%-d", "%e", "%D", "%F", "%x", "%A", "%a", "%j",
        ])
        .then_some(Grain::Day);
    }
    if has(&["HH", "hh", "mm", "ss", "LT", "15:04"]) {
        return Some(Grain::Moment);
    }
    has(&["YYYY", "yyyy", "MMMM", "MMM", "DD", "dd", "2006"]).then_some(Grain::Day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_a_grain() {
        let check = |code, expected| assert_eq!(format_grain(code), expected, "{code}");
        check("now", None);
        check("now | date('%Y-%m-%d')", Some(Grain::Day));
        check("strftime_now(\"%d %b %Y %H:%M\")", Some(Grain::Moment));
        check("now | date(\"YYYY-MM-DD\")", Some(Grain::Day));
        check("now | format('x') | date('HH:mm')", Some(Grain::Moment));
        check("now | date('never closed", None);
    }
}
