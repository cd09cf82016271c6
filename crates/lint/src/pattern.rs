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
            RegexBuilder::new(&format!("^(?:{pattern})$"))
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
        RegexBuilder::new(pattern)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|_| {
                let message = format!("`{pattern}` is not a regular expression");
                rule_file::at(yaml, origin, pattern, message)
            })
    };
    list.iter().map(compile).collect()
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
