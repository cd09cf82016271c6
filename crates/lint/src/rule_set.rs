//! All rules that a run uses, in the order of their codes.

use std::{fmt, thread};

use crate::{rule::Rule, rule_file::FileError};

/// Rules with distinct ids and codes, in the order of their codes.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
}

/// The folder `lint-rules/`: name and text of each file.
const BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/rules.rs"));

impl RuleSet {
    /// The rules that come with the linter.
    ///
    /// # Errors
    /// Never in a released build: a test reads them all.
    pub fn builtin() -> Result<Self, FileError> {
        let mut set = Self::default();
        for (rule, (name, _)) in read_side_by_side(BUILTIN).into_iter().zip(BUILTIN) {
            set.add(rule?, name)?;
        }
        Ok(set)
    }

    /// Adds a rule read from `origin`.
    ///
    /// # Errors
    /// Another rule has its id or code.
    pub fn add(&mut self, rule: Rule, origin: &str) -> Result<(), FileError> {
        let taken = |other: &&Rule| other.id == rule.id || other.code == rule.code;
        if let Some(other) = self.rules.iter().find(taken) {
            return Err(FileError {
                origin: origin.to_owned(),
                position: headwater_text::Position { line: 1, column: 1 },
                message: format!(
                    "{} `{}` is taken by {} `{}`",
                    rule.code, rule.id, other.code, other.id
                ),
            });
        }
        let at = self.rules.partition_point(|other| other.code < rule.code);
        self.rules.insert(at, rule);
        Ok(())
    }

    /// The rules, by code.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule with this id or code.
    ///
    /// # Errors
    /// There is none; the error lists names that are near.
    pub fn find(&self, name: &str) -> Result<&Rule, UnknownRule> {
        let same = |rule: &&Rule| rule.id == name || rule.code.as_str().eq_ignore_ascii_case(name);
        self.rules
            .iter()
            .find(same)
            .ok_or_else(|| self.unknown(name))
    }

    /// Keeps the rules that `select` names (all if empty) and `ignore` does not.
    ///
    /// A name is an id, a code, or the start of codes: `HW2`.
    ///
    /// # Errors
    /// A name means no rule.
    pub fn choose(mut self, select: &[String], ignore: &[String]) -> Result<Self, UnknownRule> {
        for name in select.iter().chain(ignore) {
            if !self.rules.iter().any(|rule| means(name, rule)) {
                return Err(self.unknown(name));
            }
        }
        let named = |names: &[String], rule: &Rule| names.iter().any(|name| means(name, rule));
        self.rules
            .retain(|rule| (select.is_empty() || named(select, rule)) && !named(ignore, rule));
        Ok(self)
    }

    fn unknown(&self, name: &str) -> UnknownRule {
        let mut near: Vec<_> = self
            .rules
            .iter()
            .map(|rule| {
                let by_code = distance(&name.to_ascii_uppercase(), rule.code.as_str());
                (distance(name, &rule.id).min(by_code + 2), rule)
            })
            .collect();
        near.sort_by_key(|(distance, rule)| (*distance, rule.code.clone()));
        UnknownRule {
            name: name.to_owned(),
            near: near
                .iter()
                .take(3)
                .map(|(_, rule)| format!("{} ({})", rule.id, rule.code))
                .collect(),
        }
    }
}

fn means(name: &str, rule: &Rule) -> bool {
    let upper = name.to_ascii_uppercase();
    rule.id == name || (upper.len() > 2 && rule.code.as_str().starts_with(&upper))
}

/// Letters to add, drop or change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    // Longer names than any rule's cannot be near.
    for (i, ca) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let changed = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// A name that means no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule {
    /// The name.
    pub name: String,
    /// Rules with names like it.
    pub near: Vec<String>,
}

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = headwater_text::shown(&self.name);
        let near = self.near.join(", ");
        write!(
            f,
            "no rule is called `{name}`; near are {near}; `headwater explain` lists all"
        )
    }
}

impl std::error::Error for UnknownRule {}

/// Reads rules on a few threads, in their order: this is most of the time in which a command starts.
fn read_side_by_side(files: &[(&str, &str)]) -> Vec<Result<Rule, FileError>> {
    const MOST_THREADS: usize = 4;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = files.len().div_ceil(threads.min(MOST_THREADS)).max(1);
    let mut shares = files.chunks(share);
    let first = shares.next().unwrap_or_default();
    thread::scope(|scope| {
        let others: Vec<_> = shares
            .map(|files| (files, scope.spawn(move || read(files))))
            .collect();
        let mut rules = read(first);
        for (files, other) in others {
            // A thread that could not finish is no reason to stop: its share is read here.
            rules.extend(other.join().unwrap_or_else(|_| read(files)));
        }
        rules
    })
}

fn read(files: &[(&str, &str)]) -> Vec<Result<Rule, FileError>> {
    let rules = files.iter().map(|(name, yaml)| Rule::parse_own(yaml, name));
    rules.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reading a rule of this crate compiles nothing, so this is where a bad expression shows.
    #[test]
    fn every_rule_can_be_read_as_a_foreign_one() {
        for (name, yaml) in BUILTIN {
            let rule = Rule::parse(yaml, name);
            assert!(rule.is_ok(), "{}", rule.unwrap_err());
        }
    }
}
