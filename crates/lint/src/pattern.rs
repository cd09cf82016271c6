//! Patterns of names, matched against whole words of a path whatever its spelling.

use regex::{Regex, RegexBuilder};

use crate::rule_file::{self, FileError};

/// Regular expressions, each of which must match a whole name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns(Vec<Regex>);

/// More than any list of names needs; keeps a bad pattern from taking the memory.
const MAX_COMPILED_BYTES: usize = 1 << 20;

impl Patterns {
    /// Compiles a list; an error points at the pattern in the file.
    pub(crate) fn compile(list: &[String], yaml: &str, origin: &str) -> Result<Self, FileError> {
        let compile = |pattern: &String| {
            RegexBuilder::new(&ascii(&format!("^(?:{pattern})$")))
                .size_limit(MAX_COMPILED_BYTES)
                .build()
                .map_err(|_| {
                    let message = format!("`{pattern}` is not a regular expression");
                    rule_file::at(yaml, origin, pattern, message)
                })
        };
        list.iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// The patterns as they are compiled.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Regex::as_str)
    }

    /// Some pattern matches one name of the path, or the whole path with `_` between the names.
    pub(crate) fn matches(&self, path: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let path = snake_case(path);
        let whole = path.replace('.', "_");
        self.0
            .iter()
            .any(|regex| regex.is_match(&whole) || path.split('.').any(|name| regex.is_match(name)))
    }
}

/// Compiles expressions that are searched for in text or code.
pub(crate) fn compile_search(
    list: &[String],
    yaml: &str,
    origin: &str,
) -> Result<Vec<Regex>, FileError> {
    let compile = |pattern: &String| {
        RegexBuilder::new(&ascii(pattern))
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|_| {
                let message = format!("`{pattern}` is not a regular expression");
                rule_file::at(yaml, origin, pattern, message)
            })
    };
    list.iter().map(compile).collect()
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
        let patterns = Patterns::compile(&["now|user_id".to_owned()], "", "").unwrap();
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
