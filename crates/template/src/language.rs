//! Which template language a text is written in, where the name of its file leaves that open.

use crate::{dialect::Dialect, syntax::str_format};

/// What the marks in a text say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guess {
    /// Only this language has such marks.
    Certain(Dialect),
    /// Its marks are those of more than one language, and mean the same in this one.
    Likely(Dialect),
    /// A language that is not parsed; its name.
    Unsupported(&'static str),
    /// Marks of languages that exclude each other.
    Unknown,
}

/// How many tags speak for each language.
#[derive(Default)]
struct Votes {
    handlebars: usize,
    go: usize,
    semantic_kernel: usize,
    jinja: usize,
    tags: usize,
}

/// Tells the language from exclusive marks.
pub(crate) fn guess(text: &str) -> Guess {
    if text.trim_start().starts_with("<poml") {
        return Guess::Unsupported("POML");
    }
    if has_statement(text) {
        return Guess::Certain(Dialect::Jinja);
    }
    let votes = count(text);
    let foreign = [votes.handlebars, votes.go, votes.semantic_kernel];
    match foreign.map(|votes| votes > 0) {
        [true, false, false] => Guess::Certain(Dialect::Handlebars),
        [false, true, _] => Guess::Certain(Dialect::Go),
        [false, false, true] => Guess::Certain(Dialect::SemanticKernel),
        [true, ..] => Guess::Unknown,
        [false, false, false] if votes.jinja > 0 => Guess::Certain(Dialect::Jinja),
        _ if votes.tags > 0 => Guess::Likely(Dialect::Jinja),
        _ if is_str_format(text) => Guess::Likely(Dialect::StrFormat),
        _ if text.contains("{#") && text.contains("#}") => Guess::Likely(Dialect::Jinja),
        _ => Guess::Certain(Dialect::Plain),
    }
}

/// `{% word`
fn has_statement(text: &str) -> bool {
    text.match_indices("{%").any(|(at, _)| {
        let inner = text[at + 2..].trim_start_matches(['-', '+']).trim_start();
        inner.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}

fn count(text: &str) -> Votes {
    let mut votes = Votes::default();
    let mut at = 0;
    while let Some(open) = text[at..].find("{{").map(|found| at + found) {
        at = open + 2;
        let Some(length) = text[at..].find("}}") else {
            break;
        };
        vote(&text[at..at + length], &mut votes);
        at += length;
    }
    votes
}

fn vote(inner: &str, votes: &mut Votes) {
    votes.tags += 1;
    let inner = inner.trim_start_matches(['-', '~']).trim();
    let word = inner.split(char::is_whitespace).next().unwrap_or_default();
    let first = inner.as_bytes().first().copied().unwrap_or(b' ');
    match first {
        b'/' if inner.starts_with("/*") => votes.go += 1,
        b'#' | b'/' | b'>' | b'^' | b'!' | b'&' => votes.handlebars += 1,
        b'.' => votes.go += 1,
        b'$' if is_semantic_kernel(inner) => votes.semantic_kernel += 1,
        b'$' => votes.go += 1,
        _ if is_go(word, inner) => votes.go += 1,
        _ if is_dotprompt(word, inner) => votes.handlebars += 1,
        _ if inner.contains(" $") => votes.semantic_kernel += 1,
        _ if inner.contains(['|', '(', '[', '~', '+']) => votes.jinja += 1,
        _ => {}
    }
}

/// `$name` and nothing else.
fn is_semantic_kernel(inner: &str) -> bool {
    let name = inner.get(1..).unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn is_go(word: &str, inner: &str) -> bool {
    let argument = inner[word.len()..].trim_start();
    match word {
        "end" => argument.is_empty() || argument == "-",
        "range" | "if" | "with" => argument.starts_with(['.', '$', '(']) || argument.contains(" ."),
        "template" | "define" | "block" => argument.starts_with('"'),
        _ => argument.starts_with('.') || argument.contains(" .") || inner.contains("| printf"),
    }
}

fn is_dotprompt(word: &str, inner: &str) -> bool {
    match word {
        "role" => inner.contains(['"', '\'']),
        "history" => inner == "history",
        "media" => inner.contains('='),
        _ => false,
    }
}

/// Every brace is a field or doubled, no field is code, and there is a field.
fn is_str_format(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut fields = 0;
    while let Some(sign) = text[at..].find(['{', '}', '`']).map(|found| at + found) {
        if bytes[sign] == b'`' {
            // Code is about braces, not a place for values.
            return false;
        }
        if bytes.get(sign + 1) == Some(&bytes[sign]) {
            at = sign + 2;
            continue;
        }
        let before = text[..sign].chars().next_back().unwrap_or(' ');
        let is_code = before.is_alphanumeric()
            || matches!(before, '$' | '#' | '\\' | '/' | '%' | '}' | '^' | '_');
        let Some((path, length)) = str_format::field(&text[sign..]) else {
            return false;
        };
        if is_code || path.starts_with(|c: char| c.is_uppercase()) {
            return false;
        }
        fields += 1;
        at = sign + length;
    }
    fields > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclusive_marks_decide() {
        use Dialect::{Go, Handlebars, Jinja, Plain, SemanticKernel, StrFormat};
        let check = |text, expected| assert_eq!(guess(text), expected, "{text}");
        check("plain", Guess::Certain(Plain));
        check("{% if x %}{{#each}}", Guess::Certain(Jinja));
        check("{{ x }}", Guess::Likely(Jinja));
        check("{{ x | upper }}", Guess::Certain(Jinja));
        check("{{#each x}}{{this}}{{/each}}", Guess::Certain(Handlebars));
        check("{{! note }}{{x}}", Guess::Certain(Handlebars));
        check("{{role \"user\"}}{{x}}", Guess::Certain(Handlebars));
        check("{{ .Name }}", Guess::Certain(Go));
        check("{{- range .Tools }}{{ end }}", Guess::Certain(Go));
        check("{{ if eq .Role \"user\" }}x{{ end }}", Guess::Certain(Go));
        check("{{/* note */}}{{ $x := 1 }}", Guess::Certain(Go));
        check("{{$input}} {{time.Now}}", Guess::Certain(SemanticKernel));
        check("{{#if x}}{{ .Name }}{{/if}}", Guess::Unknown);
        check("Hi {name}, {{json}}", Guess::Likely(Jinja));
        check("Hi {name}, on {day:%d}", Guess::Likely(StrFormat));
        check("a {b c}", Guess::Certain(Plain));
        check("GET /users/{id}", Guess::Certain(Plain));
        check("\\frac{a}{b}", Guess::Certain(Plain));
        check("`{name}` is a field", Guess::Certain(Plain));
        check("<poml>{{x}}</poml>", Guess::Unsupported("POML"));
    }
}
