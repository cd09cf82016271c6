//! Patterns of names, matched against whole words of a path whatever its spelling.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// More than any list of names needs; keeps a bad pattern from taking the memory.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// A regular expression of a rule, compiled when it is first asked: most are not in most runs.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    written: String,
    reach: Reach,
    compiled: OnceLock<Option<Regex>>,
}

/// What a pattern must match.
#[derive(Clone, Copy, Debug)]
enum Reach {
    Whole,
    Part,
}

impl Pattern {
    /// An expression that is searched for in text or code.
    pub(crate) fn part(written: &str) -> Self {
        Self::new(written, Reach::Part)
    }

    fn new(written: &str, reach: Reach) -> Self {
        Self {
            written: written.to_owned(),
            reach,
            compiled: OnceLock::new(),
        }
    }

    /// As it stands in the rule.
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// As it is compiled.
    pub(crate) fn source(&self) -> String {
        match self.reach {
            Reach::Whole => ascii(&format!("^(?:{})$", self.written)),
            Reach::Part => ascii(&self.written),
        }
    }

    /// The expression; none if it is not one, which reading a rule refuses.
    pub(crate) fn regex(&self) -> Option<&Regex> {
        let compile = || {
            RegexBuilder::new(&self.source())
                .size_limit(MAX_COMPILED_BYTES)
                .build()
                .ok()
        };
        self.compiled.get_or_init(compile).as_ref()
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }
}

/// Regular expressions, each of which must match a whole name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns(Vec<Pattern>);

impl Patterns {
    pub(crate) fn new(list: &[String]) -> Self {
        let whole = |written: &String| Pattern::new(written, Reach::Whole);
        Self(list.iter().map(whole).collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Pattern> {
        self.0.iter()
    }

    /// Some pattern matches one name of the path, or the whole path with `_` between the names.
    pub(crate) fn matches(&self, path: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let path = snake_case(path);
        let whole = path.replace('.', "_");
        self.iter().any(|pattern| {
            pattern.is_match(&whole) || path.split('.').any(|name| pattern.is_match(name))
        })
    }
}

/// A pattern of this crate; none if it is no regular expression, which a test would show.
pub(crate) fn own(pattern: &str) -> Option<Regex> {
    Regex::new(&ascii(pattern)).ok()
}

/// The pattern with `\w`, `\d`, `\s` and `\b` for ASCII alone: names are, and the tables for all of Unicode
/// take most of the time in which the linter starts.
fn ascii(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() * 2);
    let mut in_class = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match (chars.next(), in_class) {
                (Some('w'), true) => out.push_str("0-9A-Za-z_"),
                (Some('w'), false) => out.push_str("[0-9A-Za-z_]"),
                (Some('d'), true) => out.push_str("0-9"),
                (Some('d'), false) => out.push_str("[0-9]"),
                (Some('s'), true) => out.push_str(r" \t\r\n"),
                (Some('s'), false) => out.push_str(r"[ \t\r\n]"),
                (Some('b'), false) => out.push_str(r"(?-u:\b)"),
                (Some(escaped), _) => out.extend(['\\', escaped]),
                (None, _) => out.push('\\'),
            },
            '[' => {
                in_class = true;
                out.push(c);
            }
            ']' => {
                in_class = false;
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// `userName`, `USER_NAME` and `user-name` as `user_name`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut after_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && after_lower {
            snake.push('_');
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
        match c {
            '-' | '$' => snake.push('_'),
            _ => snake.extend(c.to_lowercase()),
        }
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_ascii() {
        let check = |pattern: &str, expected: &str| assert_eq!(ascii(pattern), expected);
        check(
            r"\b\w+[\w.-]*\[\d\]",
            r"(?-u:\b)[0-9A-Za-z_]+[0-9A-Za-z_.-]*\[[0-9]\]",
        );
        check(r"[^\]:]*\s\\", r"[^\]:]*[ \t\r\n]\\");
        check(r"\", r"\");
    }

    #[test]
    fn whole_names_in_any_spelling() {
        let patterns = Patterns::new(&["now|user_id".to_owned()]);
        let check = |path, expected| assert_eq!(patterns.matches(path), expected, "{path}");
        check("now", true);
        check("ctx.now", true);
        check("known", false);
        check("userId", true);
        check("USER_ID", true);
        check("user.id", true);
        check("user.name", false);
    }
}
