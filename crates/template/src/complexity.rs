//! Refuses tags whose syntax tree would be too deep, before any recursive parser sees them.

/// How deep the tree of one tag may get. The deepest chat template in the field needs about 20.
const MAX_DEPTH: usize = 200;
/// Brackets cost a parser a dozen stack frames each, chained operators one.
const BRACKET_DEPTH: usize = 4;

/// An upper bound of the tree's depth is under the limit.
///
/// A chain `a.b.c|d|e+f` nests one node an operator; a comma starts a new chain at the same depth.
pub(crate) fn is_shallow(tag: &str) -> bool {
    let mut open_chains = vec![0_usize];
    let mut depth = 0_usize;
    let mut quote = None;
    let mut escaped = false;
    let mut previous = ' ';
    for c in tag.chars() {
        if let Some(mark) = quote {
            if !escaped && c == mark {
                quote = None;
            }
            escaped = !escaped && c == '\\';
            continue;
        }
        let added = match c {
            '"' | '\'' => {
                quote = Some(c);
                escaped = false;
                // Adjacent strings are joined one by one.
                1
            }
            '(' | '[' | '{' => {
                open_chains.push(0);
                BRACKET_DEPTH
            }
            ')' | ']' | '}' => {
                if open_chains.len() > 1 {
                    depth -= open_chains.pop().unwrap_or_default();
                }
                // The bracket itself stays in its owner's chain: `f()()()`.
                0
            }
            ',' => {
                if let Some(chain) = open_chains.last_mut() {
                    depth -= *chain;
                    *chain = 0;
                }
                0
            }
            '.' | '|' | '+' | '-' | '*' | '/' | '%' | '~' | '=' | '<' | '>' | '!' => 1,
            // A word operator (`not`, `and`, `if` …) ends with white space or a bracket.
            _ if c.is_whitespace() && !previous.is_whitespace() => 1,
            _ => 0,
        };
        let owner = match c {
            '(' | '[' | '{' => open_chains.len().saturating_sub(2),
            _ => open_chains.len() - 1,
        };
        open_chains[owner] += added;
        depth += added;
        if depth > MAX_DEPTH {
            return false;
        }
        previous = c;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_is_refused_and_long_is_not() {
        let check = |tag: String, expected| assert_eq!(is_shallow(&tag), expected, "{tag:.60}");
        check(format!("{{{{ [{}] }}}}", "'a b', ".repeat(10_000)), true);
        check(format!("{{{{ {} }}}}", "x".repeat(100_000)), true);
        check(format!("{{{{ {} }}}}", "(".repeat(100_000)), false);
        check(format!("{{{{ a{} }}}}", ".a".repeat(100_000)), false);
        check(format!("{{{{ a{} }}}}", "|f".repeat(100_000)), false);
        check(format!("{{{{ a{} }}}}", "()".repeat(100_000)), false);
        check(format!("{{{{ {} x }}}}", "not ".repeat(100_000)), false);
        check(format!("{{{{ {} x }}}}", "-".repeat(100_000)), false);
        check("{{ f(a, b)|g(c) ~ {'a': [1, 2]} }}".to_owned(), true);
    }
}
