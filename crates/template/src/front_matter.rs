//! Volatility that a template declares about its own variables, in YAML at its top.
//!
//! Either between two `---` lines, as `volatility:` beside whatever else stands there, or in a Jinja
//! comment: `{# headwater: {volatility: {question: dynamic}} #}`.

use std::collections::BTreeMap;

use headwater_text::Span;
use saphyr::{LoadableYamlNode, MarkedYaml, Marker, YamlData};

use crate::{dialect::Dialect, problem::Problem};

/// How long a value stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// The same for all requests of a template.
    Static,
    /// The same for a session or tenant.
    SemiStatic,
    /// Another one in each request.
    Dynamic,
}

impl Volatility {
    /// All of them, the most stable first.
    pub const ALL: [Self; 3] = [Self::Static, Self::SemiStatic, Self::Dynamic];

    /// `static`, `semi_static` or `dynamic`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::SemiStatic => "semi_static",
            Self::Dynamic => "dynamic",
        }
    }

    /// The volatility of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|each| each.as_str() == name)
    }
}

/// What the top of a template says, and where the prompt begins behind it.
#[derive(Debug, Default)]
pub(crate) struct FrontMatter {
    pub(crate) volatility: BTreeMap<String, Volatility>,
    /// Byte at which the prompt begins.
    pub(crate) end: usize,
}

/// Longer than any list of variables needs to be.
const MAX_BYTES: usize = 16 * 1024;
/// Brackets in all, and list marks a line: what nests deeper is not front matter.
const MAX_BRACKETS: usize = 256;
const MAX_MARKS_A_LINE: usize = 16;

/// Reads the top of a template.
pub(crate) fn read(text: &str, dialect: Dialect, problems: &mut Vec<Problem>) -> FrontMatter {
    let top = if text.starts_with('\u{FEFF}') {
        '\u{FEFF}'.len_utf8()
    } else {
        0
    };
    if let Some((yaml, end)) = between_rules(text, top) {
        let volatility = parse(text, yaml, Home::Shared, problems);
        return FrontMatter { volatility, end };
    }
    if dialect == Dialect::Jinja
        && let Some((yaml, end)) = in_comment(text, top)
    {
        let volatility = parse(text, yaml, Home::Own, problems);
        return FrontMatter { volatility, end };
    }
    FrontMatter {
        end: top,
        ..FrontMatter::default()
    }
}

/// Where the prompt of another file begins.
pub(crate) fn end(text: &str) -> usize {
    let top = text.len() - text.trim_start_matches('\u{FEFF}').len();
    between_rules(text, top).map_or(top, |(_, end)| end)
}

/// Whose YAML it is: other tools keep their keys in front matter, nobody in our comment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Shared,
    Own,
}

/// The YAML between two lines `---`, and the start of the line after the second.
pub(crate) fn between_rules(text: &str, top: usize) -> Option<(Span, usize)> {
    let mut lines = text[top..].split_inclusive('\n');
    let first = lines.next()?;
    if first.trim_end() != "---" {
        return None;
    }
    let start = top + first.len();
    let mut at = start;
    for line in lines {
        if line.trim_end() == "---" {
            return Some((Span { start, end: at }, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// The YAML of a comment `{# headwater: … #}` before anything else.
fn in_comment(text: &str, top: usize) -> Option<(Span, usize)> {
    let open = top + text[top..].find(|c: char| !c.is_whitespace())?;
    let inner = text[open..].strip_prefix("{#")?;
    let length = inner.find("#}")?;
    let yaml = inner[..length].trim_start_matches('-');
    let words = yaml.trim_start();
    if !words.starts_with("headwater:")
        || words["headwater:".len()..]
            .trim_start()
            .starts_with("ignore[")
    {
        return None;
    }
    let end = open + 2 + length;
    let start = end - yaml.len();
    let kept = yaml.trim_end_matches('-').len();
    Some((
        Span {
            start,
            end: start + kept,
        },
        end + 2,
    ))
}

fn parse(
    text: &str,
    span: Span,
    home: Home,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, Volatility> {
    let yaml = &text[span.start..span.end];
    if let Some(message) = refuse(yaml) {
        problems.push(Problem::new(span, message));
        return BTreeMap::new();
    }
    let mut reader = Reader {
        yaml,
        base: span.start,
        problems,
        found: BTreeMap::new(),
    };
    match MarkedYaml::load_from_str(yaml) {
        Ok(documents) => documents
            .iter()
            .for_each(|document| reader.document(document, home)),
        Err(error) => {
            let at = reader.offset(*error.marker());
            let message = format!("front matter is not valid YAML: {}", error.info());
            reader
                .problems
                .push(Problem::new(Span { start: at, end: at }, message));
        }
    }
    reader.found
}

fn refuse(yaml: &str) -> Option<&'static str> {
    if yaml.len() > MAX_BYTES {
        return Some(
            "front matter is longer than 16 KiB; move what is not about the template out of it",
        );
    }
    let brackets = yaml.matches(['[', '{']).count();
    let marks = yaml
        .lines()
        .map(|line| line.matches(['-', '?', ':']).count())
        .max();
    if brackets > MAX_BRACKETS || marks.unwrap_or(0) > MAX_MARKS_A_LINE && nests(yaml) {
        return Some("front matter nests too deep to be read");
    }
    None
}

/// Some line opens many nested values: `- - - -`.
fn nests(yaml: &str) -> bool {
    yaml.lines().any(|line| {
        let opened = line
            .split_whitespace()
            .take_while(|word| matches!(*word, "-" | "?" | ":"));
        opened.count() > MAX_MARKS_A_LINE
    })
}

struct Reader<'a> {
    yaml: &'a str,
    base: usize,
    problems: &'a mut Vec<Problem>,
    found: BTreeMap<String, Volatility>,
}

impl Reader<'_> {
    fn document(&mut self, node: &MarkedYaml<'_>, home: Home) {
        let YamlData::Mapping(map) = &node.data else {
            return self.problem(
                node,
                "front matter is not a mapping; expected `volatility:` and names below it",
            );
        };
        for (key, value) in map {
            match (home, key.data.as_str()) {
                (Home::Own, Some("headwater")) => self.own(value),
                (Home::Shared, Some("volatility")) => self.names(value),
                (Home::Shared, _) => {}
                (Home::Own, _) => self.problem(key, "unknown key; expected `headwater`"),
            }
        }
    }

    fn own(&mut self, node: &MarkedYaml<'_>) {
        let YamlData::Mapping(map) = &node.data else {
            return self.problem(node, "expected `volatility:` and names below it");
        };
        for (key, value) in map {
            match key.data.as_str() {
                Some("volatility") => self.names(value),
                _ => self.problem(key, "unknown key; expected `volatility`"),
            }
        }
    }

    fn names(&mut self, node: &MarkedYaml<'_>) {
        let YamlData::Mapping(map) = &node.data else {
            return self.problem(
                node,
                "expected names with `static`, `semi_static` or `dynamic`",
            );
        };
        for (key, value) in map {
            let Some(name) = key.data.as_str() else {
                self.problem(key, "expected the name of a variable");
                continue;
            };
            match value.data.as_str().and_then(Volatility::from_name) {
                Some(volatility) => {
                    self.found.insert(name.to_owned(), volatility);
                }
                None => self.problem(value, "expected `static`, `semi_static` or `dynamic`"),
            }
        }
    }

    fn problem(&mut self, node: &MarkedYaml<'_>, message: &str) {
        let span = Span {
            start: self.offset(node.span.start),
            end: self.offset(node.span.end),
        };
        self.problems.push(Problem::new(span, message));
    }

    /// The byte of the source at a marker, which counts characters.
    fn offset(&self, marker: Marker) -> usize {
        let byte = self.yaml.char_indices().nth(marker.index());
        self.base + byte.map_or(self.yaml.len(), |(byte, _)| byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, Volatility)], rest: &str) {
        let mut problems = Vec::new();
        let front = read(text, Dialect::Jinja, &mut problems);
        assert_eq!(problems, [], "{text}");
        let found: Vec<_> = front
            .volatility
            .iter()
            .map(|(k, v)| (k.as_str(), *v))
            .collect();
        assert_eq!(found, expected, "{text}");
        assert_eq!(&text[front.end..], rest);
    }

    #[test]
    fn both_homes() {
        use Volatility::{Dynamic, Static};
        check("hello", &[], "hello");
        check(
            "---\nname: x\nvolatility:\n  a: static\n---\nhi",
            &[("a", Static)],
            "hi",
        );
        check("---\nno end", &[], "---\nno end");
        check(
            "{# headwater:\n  volatility: {q: dynamic} #}hi",
            &[("q", Dynamic)],
            "hi",
        );
        check(
            "{#- headwater: {volatility: {q: dynamic}} -#}\nhi",
            &[("q", Dynamic)],
            "\nhi",
        );
        check(
            "{# headwater: ignore[HW201] why #}hi",
            &[],
            "{# headwater: ignore[HW201] why #}hi",
        );
        check("{# a comment #}hi", &[], "{# a comment #}hi");
    }

    #[test]
    fn bad_front_matter_is_a_problem_with_a_place() {
        let check = |text: &str, at: usize, message: &str| {
            let mut problems = Vec::new();
            read(text, Dialect::Jinja, &mut problems);
            assert_eq!(problems.len(), 1, "{text}: {problems:?}");
            assert_eq!(problems[0].span.start, at, "{text}: {problems:?}");
            assert!(problems[0].message.contains(message), "{problems:?}");
        };
        check(
            "---\nvolatility:\n  é: often\n---\n",
            22,
            "expected `static`",
        );
        check("---\n- a\n---\n", 4, "not a mapping");
        check("---\na: [\n---\n", 9, "not valid YAML");
        check(
            "{# headwater: {volatile: {}} #}",
            15,
            "unknown key; expected `volatility`",
        );
        check(
            &format!("---\n{}\n---\n", "- ".repeat(5_000)),
            4,
            "nests too deep",
        );
        check(
            &format!("---\n{}\n---\n", "[".repeat(5_000)),
            4,
            "nests too deep",
        );
    }
}
