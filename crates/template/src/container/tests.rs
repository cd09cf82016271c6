//! Every decoded character leads to the bytes of the file that stand for it.

use std::sync::Arc;

use headwater_text::Span;
use proptest::prelude::*;

use super::*;
use crate::source::{Source, SourceFile};

/// All strings of a value, with their decoded texts.
fn texts<'v, 't>(value: &'v Value<'t>, found: &mut Vec<&'v Text<'t>>) {
    match &value.data {
        Data::Text(text) => found.push(text),
        Data::List(items) => items.iter().for_each(|item| texts(item, found)),
        Data::Map(pairs) => {
            for (key, value) in pairs {
                found.push(key);
                texts(value, found);
            }
        }
        Data::Other => {}
    }
}

fn source(file: &str, text: &Text<'_>) -> Source {
    let (decoded, map) = text.decode(file).finish();
    assert_eq!(decoded, text.value);
    let file = Arc::new(SourceFile::from_bytes(file.as_bytes()).unwrap());
    Source::whole(file).within(decoded, map)
}

fn read(file: &str, is_json: bool) -> Option<Value<'_>> {
    if is_json {
        Some(read_json(file).unwrap())
    } else {
        let yaml = read_yaml(file, 0);
        assert_eq!(yaml.problem, None, "{file}");
        yaml.documents.into_iter().next()
    }
}

/// Reads back the string under `k`.
fn reread(file: &str, is_json: bool) -> Option<String> {
    let value = if is_json {
        read_json(file).ok()?
    } else {
        let yaml = read_yaml(file, 0);
        yaml.documents
            .into_iter()
            .next()
            .filter(|_| yaml.problem.is_none())?
    };
    value.get_str("k").map(str::to_owned)
}

/// What stands for a character: itself, an escape, or a line end.
fn stands_for(written: &str, c: char) -> bool {
    written == c.to_string()
        || written.starts_with('\\')
        || written == "''"
        || written == "\r\n"
        || written.contains('\n') && (c == ' ' || c == '\n')
}

#[track_caller]
fn check_map(file: &str, text: &Text<'_>, is_exact: bool) {
    let source = source(file, text);
    for (at, c) in source.text().char_indices() {
        let place = source.in_file(Span::new(at, at + c.len_utf8()));
        let written = &file[place.start..place.end];
        let fits = stands_for(written, c) || !is_exact;
        assert!(fits, "{c:?} at {at} is written {written:?} in {file:?}");
    }
}

#[track_caller]
fn check(file: &str, is_json: bool, expected: &str) {
    let value = read(file, is_json).unwrap();
    let text = value.get("k").unwrap().text().unwrap();
    assert_eq!(text.value, expected, "{file}");
    let opaque = source(file, text).in_file(Span::new(0, 1)) == text.span;
    assert!(
        !opaque || text.value.len() < 2,
        "{file:?} is not understood"
    );
    check_map(file, text, true);
}

#[test]
fn each_notation_is_understood() {
    check(
        r#"{"k": "a\n\"b\\ \u00e9\ud83d\ude00 c\/"}"#,
        true,
        "a\n\"b\\ é😀 c/",
    );
    check(
        "k: |\n  é one\n    two\n\n  three\n",
        false,
        "é one\n  two\n\nthree\n",
    );
    check("k: |-\n  one\n  two\n\n\nz: 1\n", false, "one\ntwo");
    check("k: |+\n  one\n\n\n", false, "one\n\n\n");
    check("k: |2\n    one\n  two\n", false, "  one\ntwo\n");
    check("k: |\n\n  one\n", false, "\none\n");
    check("k: |\r\n  one\r\n  two\r\n", false, "one\ntwo\n");
    check(
        "k: >\n  one\n  two\n\n  three\n    four\n  five\n",
        false,
        "one two\nthree\n  four\nfive\n",
    );
    check("k: >-\n  one\n\n\n  two\n", false, "one\n\ntwo");
    check("k: 'it''s\n  one\n\n  two'\n", false, "it's one\ntwo");
    check(
        "k: \"a\\tb \\\n   c\\u00e9\\x41\\\n   d\"\n",
        false,
        "a\tb céAd",
    );
    check("k: &x !!str plain text\n  more\n", false, "plain text more");
    check("k: &x |-\n  one\n  two\n", false, "one\ntwo");
    check("k: !!str &x > # why\n  one\n  two\n", false, "one two\n");
    check("k: |\n  !x | one\n  &y |\n", false, "!x | one\n&y |\n");
    check("# 日本\nk: 日本 x # c\n", false, "日本 x");
    check("k: one # c\n", false, "one");
}

#[test]
fn replacements_are_written_in_the_notation() {
    let check = |file: &str, what: &str, with: &str, expected: Option<&str>| {
        let is_json = file.starts_with('{');
        let value = read(file, is_json).unwrap();
        let text = value.get("k").unwrap().text().unwrap();
        let source = source(file, text);
        let at = source.text().find(what).unwrap();
        let span = Span::new(at, at + what.len());
        let after = source.edit(span, with).map(|(place, written)| {
            format!("{}{written}{}", &file[..place.start], &file[place.end..])
        });
        assert_eq!(after.as_deref(), expected, "{file:?} {what:?} {with:?}");
        if let Some(after) = after {
            let now = source.text().replacen(what, with, 1);
            assert_eq!(
                reread(&after, is_json).as_deref(),
                Some(now.as_str()),
                "{after:?}"
            );
        }
    };
    check(
        r#"{"k": "a\u200bb"}"#,
        "\u{200b}",
        "",
        Some(r#"{"k": "ab"}"#),
    );
    check(r#"{"k": "a b"}"#, " ", "\n\"", Some(r#"{"k": "a\n\"b"}"#));
    let block = "k: |\n  one\n  two\n  three\nz: 1\n";
    check(block, "two", "2", Some("k: |\n  one\n  2\n  three\nz: 1\n"));
    check(block, "two\n", "", Some("k: |\n  one\n  three\nz: 1\n"));
    check(
        block,
        "two\n",
        "2\n\n3\n",
        Some("k: |\n  one\n  2\n\n  3\n  three\nz: 1\n"),
    );
    check(
        block,
        "two",
        "2\n3",
        Some("k: |\n  one\n  2\n  3\n  three\nz: 1\n"),
    );
    check(
        block,
        "three\n",
        "three\nfour\n",
        Some("k: |\n  one\n  two\n  three\n  four\nz: 1\n"),
    );
    check(block, "ne\nt", "x", Some("k: |\n  oxwo\n  three\nz: 1\n"));
    check(block, "wo\n", "x", None);
    check(block, "one", " one", None);
    check(
        "k: >\n  one two\n  three\n",
        "e t",
        "e 2 t",
        Some("k: >\n  one 2 two\n  three\n"),
    );
    check("k: >\n  one two\n  three\n", "o t", "o\nt", None);
    check(
        "k: 'one two x'\n",
        "two",
        "it's",
        Some("k: 'one it''s x'\n"),
    );
    check("k: one two x\n", "two", "a: b", None);
    check("k: one two x\n", "two", "three", Some("k: one three x\n"));
    check("k: one\n  two\n", "e t", "", None);
}

#[test]
fn aliases_are_what_their_anchors_are() {
    let file = "base: &base\n  a: one\n  b: two\nk:\n  <<: *base\n  b: own\nl: [*base, &s x, *s]\n";
    let value = read(file, false).unwrap();
    let merged = value.get("k").unwrap();
    assert_eq!(merged.get_str("a"), Some("one"));
    assert_eq!(merged.get_str("b"), Some("own"));
    let place = merged.get("a").unwrap().span;
    assert_eq!(&file[place.start..place.end], "one");
    assert_eq!(value.get("l").unwrap().items()[0].get_str("b"), Some("two"));
    assert_eq!(value.get("l").unwrap().items()[2].str(), Some("x"));
    let several = read(
        "a: &a {x: 1a}\nb: &b {x: 1b, y: 2b}\nk: {<<: [*a, *b]}\n",
        false,
    )
    .unwrap();
    assert_eq!(several.get("k").unwrap().get_str("x"), Some("1a"));
    assert_eq!(several.get("k").unwrap().get_str("y"), Some("2b"));
    // In quotes it is a key like any other.
    let quoted = read("a: &a {x: 1a}\nk: {'<<': *a}\n", false).unwrap();
    assert_eq!(quoted.get("k").unwrap().get_str("x"), None);
    // An alias inside its own anchor has no end.
    let endless = read("k: &k [x, *k]\n", false).unwrap();
    assert_eq!(endless.get("k").unwrap().items().len(), 2);
}

#[test]
fn aliases_of_aliases_have_a_limit() {
    let mut file = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}, ", level - 1).repeat(8);
        file.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let yaml = read_yaml(&file, 0);
    let problem = yaml.problem.unwrap();
    assert!(
        problem.message.contains("more than 50000 values"),
        "{problem:?}"
    );
    assert!(file[problem.span.start..].starts_with("*a"), "{problem:?}");
    let many = format!(
        "a: &a [{}]\nk: [{}x]\n",
        "x, ".repeat(100),
        "*a, ".repeat(10_000)
    );
    assert!(read_yaml(&many, 0).problem.is_some());
    // Anchors around anchors, each with all that is in it.
    let nested = format!(
        "k: &b {}[{}x]{}\n",
        "[&a ".repeat(60),
        "x,".repeat(10_000),
        "]".repeat(60)
    );
    assert_eq!(read_yaml(&nested, 0).problem, None);
    let used = format!("{nested}l: *b\n");
    assert!(read_yaml(&used, 0).problem.is_some());
}

#[test]
fn every_document_is_read() {
    let yaml = read_yaml("a: 1\n---\n---\nb: &b 2\n...\n---\n- x\n", 0);
    assert_eq!(yaml.problem, None);
    assert_eq!(yaml.documents.len(), 4);
    let yaml = read_yaml("a: 1\n---\n[\n", 0);
    assert_eq!(yaml.documents.len(), 1);
    assert!(yaml.problem.is_some());
    let long = format!("a: {}\n", "x".repeat(3 * 1024 * 1024));
    let problem = read_yaml(&long, 0).problem.unwrap();
    assert!(
        problem
            .message
            .starts_with("3145732 bytes of YAML, more than the 2097152 that are read; split"),
        "{problem:?}"
    );
}

#[test]
fn strings_in_strings() {
    let outer = "k: |\n  [\"a\\u200bb\", \"c\"]\nz: \"[\\\"d\\\"]\"\n";
    let value = read(outer, false).unwrap();
    let inner = |key: &str, what: &str, with: &str| {
        let source = source(outer, value.get(key).unwrap().text().unwrap());
        let list = read_json(source.text()).unwrap();
        let mut found = Vec::new();
        texts(&list, &mut found);
        let text = found[0];
        let (decoded, map) = text.decode(source.text()).finish();
        let inside = source.within(decoded, map);
        let at = inside.text().find(what).unwrap();
        let span = Span::new(at, at + what.len());
        let place = inside.in_file(span);
        assert_eq!(inside.in_text(place.start), Some(at));
        let (at, written) = inside.edit(span, with).unwrap();
        (
            outer[place.start..place.end].to_owned(),
            format!("{}{written}{}", &outer[..at.start], &outer[at.end..]),
        )
    };
    let (written, after) = inner("k", "\u{200b}", "\"");
    assert_eq!(written, "\\u200b");
    assert!(after.starts_with("k: |\n  [\"a\\\"b\","), "{after}");
    let (written, after) = inner("z", "d", "e\"f");
    assert_eq!(written, "d");
    assert!(after.ends_with("z: \"[\\\"e\\\\\\\"f\\\"]\"\n"), "{after}");
}

proptest! {
    #[test]
    fn every_character_has_its_bytes(
        texts_in in proptest::collection::vec("[ -~\n\t\"\\\\é日😀\u{200b}]{0,40}", 1..4),
    ) {
        let json = serde_json::to_string(&texts_in).unwrap();
        let value = read_json(&json).unwrap();
        let mut found = Vec::new();
        texts(&value, &mut found);
        for (text, expected) in found.iter().zip(&texts_in) {
            prop_assert_eq!(text.value.as_ref(), expected);
            check_map(&json, text, true);
        }
    }

    #[test]
    fn yaml_is_read_as_its_parser_reads_it(
        header in "(\\||>)[+-]?",
        lines in proptest::collection::vec("( {0,3}[a-zé:#'\"-]{1,6}( [a-z]{1,3})?)?", 1..8),
    ) {
        let mut file = format!("a: 1\nk: {header}\n");
        for line in &lines {
            file.push_str("  ");
            file.push_str(line);
            file.push('\n');
        }
        file.push_str("z: 2\n");
        for value in read_yaml(&file, 0).documents {
            let mut found = Vec::new();
            texts(&value, &mut found);
            for text in found {
                check_map(&file, text, false);
            }
        }
    }

    #[test]
    fn an_edit_is_read_back(
        text in "([a-z ]{0,6}\n){0,5}[a-z]{0,3}",
        from in 0_usize..30,
        length in 0_usize..8,
        with in "[a-z \n\"':#]{0,6}",
        form in 0_usize..4,
    ) {
        let file = match form {
            0 => serde_json::to_string(&serde_json::json!({"k": text})).unwrap(),
            1 => format!("k: |\n{}\nz: 1\n", indented(&text)),
            2 => format!("k: >-\n{}\nz: 1\n", indented(&text)),
            _ => format!("k: '{text}'\nz: 1\n"),
        };
        let is_json = form == 0;
        let Some(before) = reread(&file, is_json) else { return Ok(()); };
        let value = read(&file, is_json).unwrap();
        let text = value.get("k").unwrap().text().unwrap();
        let source = source(&file, text);
        let from = from.min(before.len());
        let end = (from + length).min(before.len());
        if let Some((place, written)) = source.edit(Span::new(from, end), &with) {
            let after = format!("{}{written}{}", &file[..place.start], &file[place.end..]);
            let now = format!("{}{with}{}", &before[..from], &before[end..]);
            prop_assert_eq!(reread(&after, is_json), Some(now), "{:?} -> {:?}", file, after);
        }
    }

    #[test]
    fn anything_ends(text in "\\PC{0,80}", yaml in "[-:|>\\[\\]{}'\"#&*! a\n]{0,60}") {
        let _ = read_json(&text);
        let _ = read_yaml(&text, 0);
        for value in read_yaml(&yaml, 0).documents {
            let mut found = Vec::new();
            texts(&value, &mut found);
            for text in found {
                check_map(&yaml, text, false);
            }
        }
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| format!("  {line}")).collect();
    lines.join("\n")
}
