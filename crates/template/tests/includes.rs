//! Templates of more than one file.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use headwater_template::{Document, NoteKind, PieceKind, read};

/// Reads the first of `files`, which may bring the others.
fn document(files: &[(&str, &str)]) -> Document {
    let load = |name: &str| {
        let found = files.iter().find(|(known, _)| *known == name)?;
        Some(found.1.as_bytes().to_vec())
    };
    read(files[0].0, files[0].1.as_bytes(), &load).unwrap()
}

/// Each value and text that was brought, as `paths line:column bytes-after [from]`.
#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let document = document(files);
    let template = &document.templates[0];
    assert_eq!(template.problems(), []);
    let mut lines = Vec::new();
    for piece in template.pieces() {
        let value = match &piece.kind {
            PieceKind::Value(value) | PieceKind::Loop(value) => value,
            PieceKind::Include => &Default::default(),
            _ => continue,
        };
        let paths: Vec<_> = value.atoms.iter().map(|atom| atom.path.as_str()).collect();
        let from = piece
            .from
            .as_ref()
            .map_or(String::new(), |from| format!(" {from}"));
        lines.push(format!(
            "{} {} {}{from}",
            paths.join("+"),
            template.source().position(piece.span.start),
            piece.static_bytes_after
        ));
    }
    assert_eq!(lines, expected, "{:?}", document.notes);
}

#[test]
fn what_is_included_stands_where_it_is_included() {
    check(
        &[
            ("a.j2", "{{ x }}\n{% include 'b.j2' %}{{ y }}"),
            ("b.j2", "{{ now }} 12345"),
        ],
        &["x 1:4 5", "now 2:1 5 b.j2", "y 2:24 0"],
    );
    check(
        &[
            ("a.j2", "{% set t = now() %}{% include ['z.j2', 'b.j2'] %}"),
            ("b.j2", "{{ t }}12"),
        ],
        &["now 1:20 2 b.j2"],
    );
    check(
        &[("a.j2", "{% include 'z.j2' ignore missing %}{{ a }}")],
        &["a 1:39 0"],
    );
    check(
        &[("a.hbs", "{{> b}}12"), ("b", "{{#each xs}}{{y}}{{/each}}3")],
        &["xs 1:1 3 b", "xs.y 1:1 3 b"],
    );
    check(
        &[("a.gotmpl", "{{template \"b\" .X}}"), ("b", "{{.Y}}12")],
        &["Y 1:1 2 b"],
    );
}

#[test]
fn blocks_stand_where_the_base_has_them() {
    let base =
        "{{ date }}{% block head %}old{% endblock %}12345{% block tail %}{{ z }}{% endblock %}";
    check(
        &[
            (
                "a.j2",
                "{% extends 'base.j2' %}x{% block tail %}{{ q }}{{ super() }}{% endblock %}{% block head %}new head{% endblock %}",
            ),
            ("base.j2", base),
        ],
        &["date 1:1 13 base.j2", "q 1:44 0", "z 1:1 0 base.j2"],
    );
    check(
        &[
            (
                "a.j2",
                "{% extends 'mid.j2' %}{% block tail %}{{ super() }}{% endblock %}",
            ),
            (
                "mid.j2",
                "{% extends 'base.j2' %}{% block tail %}{{ m }}{% endblock %}",
            ),
            ("base.j2", base),
        ],
        &["date 1:1 8 base.j2", "m 1:1 0 mid.j2"],
    );
}

#[test]
fn macros_are_imported() {
    let macros = "{% macro card(u) %}{{ u.name }} 12{% endmacro %}";
    check(
        &[
            ("a.j2", "{% import 'm.j2' as m %}{{ m.card(user) }}"),
            ("m.j2", macros),
        ],
        &["user.name 1:25 2 m.j2"],
    );
    check(
        &[
            ("a.j2", "{% from 'm.j2' import card as c %}{{ c(user) }}"),
            ("m.j2", macros),
        ],
        &["user.name 1:35 2 m.j2"],
    );
}

#[test]
fn what_is_not_followed_is_said() {
    let check = |files: &[(&str, &str)], kind, message: &str| {
        let document = document(files);
        let note = &document.notes[0];
        assert_eq!(note.kind, kind, "{note:?}");
        assert!(note.message.contains(message), "{note:?}");
    };
    use NoteKind::{Cycle, NotFollowed};
    check(
        &[("a.j2", "{% include 'z' %}")],
        NotFollowed,
        "`z` was not found",
    );
    check(
        &[("a.j2", "{% include name %}")],
        NotFollowed,
        "only known when",
    );
    check(
        &[
            ("a.j2", "{% include 'b' %}"),
            ("b", "{% include 'c' %}"),
            ("c", "{% include 'b' %}"),
        ],
        Cycle,
        "`b` is part of itself",
    );
    check(
        &[("a.j2", "{% include 'b' %}"), ("b", "{% if %}")],
        NotFollowed,
        "followed only in part: 1:1",
    );
}

#[test]
fn files_that_grow_without_end_end() {
    let many: String = (0..40).map(|n| format!("{{% include 'b{n}' %}}")).collect();
    let load = |_: &str| Some(many.clone().into_bytes());
    read("a.j2", many.as_bytes(), &load).unwrap();
}
