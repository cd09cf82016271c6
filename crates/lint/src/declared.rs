//! Volatility declared for patterns of names: `*_id: dynamic`.

use std::collections::BTreeMap;

use headwater_template::{PieceKind, Template, Volatility};

/// The declarations with each pattern put in the place of the names in the template that it means. Names
/// count more than patterns, and longer patterns more than shorter ones.
pub(crate) fn expand(
    declared: &BTreeMap<String, Volatility>,
    template: &Template,
) -> BTreeMap<String, Volatility> {
    let (patterns, mut exact): (Vec<_>, BTreeMap<_, _>) = {
        let (patterns, exact): (Vec<_>, Vec<_>) = declared
            .iter()
            .map(|(name, volatility)| (name.clone(), *volatility))
            .partition(|(name, _)| name.contains('*'));
        (patterns, exact.into_iter().collect())
    };
    if patterns.is_empty() {
        return exact;
    }
    let mut longest_first = patterns;
    longest_first.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
    for path in paths(template) {
        let meant = longest_first
            .iter()
            .find(|(pattern, _)| matches(pattern, &path));
        if let Some((_, volatility)) = meant {
            exact.entry(path).or_insert(*volatility);
        }
    }
    exact
}

/// Every path that the template reads, and its starts.
fn paths(template: &Template) -> Vec<String> {
    let mut paths = Vec::new();
    for piece in template.pieces() {
        let (PieceKind::Value(value) | PieceKind::Loop(value) | PieceKind::Condition(value)) =
            &piece.kind
        else {
            continue;
        };
        for atom in &value.atoms {
            let dots = atom.path.match_indices('.').map(|(at, _)| at);
            let ends = dots.chain([atom.path.len()]);
            paths.extend(ends.map(|end| atom.path[..end].to_owned()));
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

/// `*` stands for any characters but a dot.
fn matches(pattern: &str, path: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == path;
    };
    let Some(rest) = path.strip_prefix(head) else {
        return false;
    };
    let reach = rest.find('.').unwrap_or(rest.len());
    let mut ends = rest[..reach]
        .char_indices()
        .map(|(at, _)| at)
        .chain([reach]);
    ends.any(|end| matches(tail, &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars() {
        for (pattern, path, expected) in [
            ("*_id", "trace_id", true),
            ("*_id", "trace_ids", false),
            ("user.*", "user.name", true),
            ("user.*", "user.name.first", false),
            ("*", "user", true),
            ("*", "user.name", false),
            ("a*b*c", "a_b_b_c", true),
            ("a*b*c", "a_c", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
