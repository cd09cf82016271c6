//! Line and column of a value in a YAML or JSON file, for errors found after parsing.

use headwater::text::Position;
use saphyr::{LoadableYamlNode, MarkedYaml, SafelyIndex};

/// The position of the deepest part of `path` that exists. Numbers are places in lists. `None`
/// where the file cannot be read as YAML (JSON with surrogate pairs), though it was parsed.
pub(crate) fn position(source: &str, path: &[&str]) -> Option<Position> {
    let documents = MarkedYaml::load_from_str(source).ok()?;
    let mut node = documents.first()?;
    for part in path {
        let next = match part.parse::<usize>() {
            Ok(place) => node.get(place),
            Err(_) => node.get(*part),
        };
        let Some(next) = next else { break };
        node = next;
    }
    let start = node.span.start;
    Some(Position {
        line: start.line(),
        column: start.col() + 1,
    })
}

/// `segments[2].role`
pub(crate) fn path(parts: &[&str]) -> String {
    let mut path = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        match part.parse::<usize>() {
            Ok(place) => path.push_str(&format!("[{place}]")),
            Err(_) if path.is_empty() => path.push_str(part),
            Err(_) => path.push_str(&format!(".{part}")),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_values_and_the_nearest_parent() {
        let source = "model: m\nsegments:\n  - volatility: static\n    text: é a\n  - {volatility: dynamic}\n";
        let check = |path: &[&str], expected: &str| {
            assert_eq!(
                position(source, path).unwrap().to_string(),
                expected,
                "{path:?}"
            );
        };
        check(&["segments", "0", "volatility"], "3:17");
        check(&["segments", "0", "text"], "4:11");
        check(&["segments", "1", "volatility"], "5:18");
        check(&["segments", "1", "text"], "5:5");
        check(&["segments", "9"], "3:3");
        assert_eq!(path(&["segments", "2", "role"]), "segments[2].role");
        assert_eq!(path(&["segments", "2", ""]), "segments[2]");
    }

    #[test]
    fn reads_json() {
        let position = position(
            "{\"segments\": [\n {\"text\": \"a\"}]}",
            &["segments", "0", "text"],
        );
        assert_eq!(position.unwrap().to_string(), "2:11");
    }
}
