//! The order in which a template reaches the model, and what follows each value.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use headwater_template::{Dialect, PieceKind, Source, Template, Volatility};

fn parse(text: &str) -> Template {
    Template::parse(Source::from_bytes(text.as_bytes()).unwrap(), Dialect::Jinja)
}

/// Each value with its paths, its place, and the static bytes behind it.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let template = parse(text);
    assert_eq!(template.problems(), [], "{text}");
    let values: Vec<String> = template
        .pieces()
        .iter()
        .filter_map(|piece| {
            let (kind, value) = match &piece.kind {
                PieceKind::Value(value) => ("", value),
                PieceKind::Loop(value) => ("for ", value),
                PieceKind::Condition(value) => ("if ", value),
                _ => return None,
            };
            let paths: Vec<_> = value.atoms.iter().map(|atom| atom.path.as_str()).collect();
            let turn = if piece.in_last_turn { " last turn" } else { "" };
            let place = template.source().slice(piece.span);
            Some(format!(
                "{kind}{} `{place}` {}{turn}",
                paths.join("+"),
                piece.static_bytes_after
            ))
        })
        .collect();
    assert_eq!(values, expected, "{text}");
}

#[test]
fn values_know_what_follows() {
    check("{{ a }}12345{{ b }}", &["a `a` 5", "b `b` 0"]);
    check(
        "{{ a.b['c'] | upper }} 12",
        &["a.b.c+upper `a.b['c'] | upper` 2"],
    );
    check("{{ 'constant' }}", &[]);
    check(
        "{# {{ a }} #}{% raw %}{{ b }}{% endraw %}{{ c }}",
        &["c `c` 0"],
    );
}

#[test]
fn names_lead_back_to_their_origins() {
    check("{% set t = now() %}{{ t }}1", &["now `t` 1"]);
    check(
        "{% for m in messages %}{{ m.text }}12{% endfor %}3",
        &["for messages `messages` 1", "messages.text `m.text` 3"],
    );
    check(
        "{% with x = a.b %}{{ x.c }}{% endwith %}",
        &["a.b.c `x.c` 0"],
    );
    check(
        "{% set x = 1 %}{% if c %}{% set x = now() %}{% endif %}{{ x }}",
        &["if c `{% if c %}` 0", "now `x` 0"],
    );
    check("{% set x = a %}{% set x = x + b %}{{ x }}", &["a+b `x` 0"]);
}

#[test]
fn bodies_are_printed_where_they_are_called() {
    check(
        "{% macro m(x) %}{{ x }}12{% endmacro %}{{ m(now) }}3",
        &["now `x` 3"],
    );
    check(
        "{% set head %}{{ a }}12{% endset %}34{{ head }}5",
        &["a `a` 3"],
    );
    check("{% block b %}{{ a }}{% endblock %}12", &["a `a` 2"]);
    check(
        "{% macro m() %}{{ m() }}{{ a }}{% endmacro %}{{ m() }}",
        &["m `m()` 0", "a `a` 0"],
    );
    check("{% filter upper %}{{ a }}12{% endfilter %}", &["a `a` 2"]);
    check("{% generation %}{{ a }}12{% endgeneration %}", &["a `a` 2"]);
    check("{% include 'x' %}{{ a }}", &["a `a` 0"]);
}

#[test]
fn the_longest_way_counts() {
    check(
        "{{ a }}{% if c %}12{% elif d %}1234{% else %}{{ b }}{% endif %}5",
        &[
            "a `a` 5",
            "if c `{% if c %}` 1",
            "if d `{% elif d %}` 1",
            "b `b` 1",
        ],
    );
}

#[test]
fn roles_weigh_nothing_and_the_last_turn_is_known() {
    check(
        "<|im_start|>system\n{{ a }} 12<|im_end|>\n<|im_start|>user\n{{ b }} 34<|im_end|>\n<|im_start|>assistant\n",
        &["a `a` 4", "b `b` 2 last turn"],
    );
    check(
        "User: hi\nAssistant: hello\nNow: {{ now }}",
        &["now `now` 0"],
    );
    check(
        "Be kind.\nUser: {{ q }}\nAssistant:",
        &["q `q` 0 last turn"],
    );
}

#[test]
fn front_matter_declares() {
    let template = parse("---\nvolatility: {a: static}\n---\n{{ a.b }}{{ c }}");
    let declared: Vec<_> = template
        .pieces()
        .iter()
        .filter_map(|piece| match &piece.kind {
            PieceKind::Value(value) => {
                Some(template.volatility(&value.atoms[0]).map(Volatility::as_str))
            }
            _ => None,
        })
        .collect();
    assert_eq!(declared, [Some("static"), None]);
    assert_eq!(template.source().slice(template.outputs()[0]), "{{ a.b }}");
}

#[test]
fn problems_have_a_place() {
    let check = |text: &str, start, message: &str| {
        let template = parse(text);
        let problem = &template.problems()[0];
        assert_eq!(problem.span.start, start, "{text}: {problem:?}");
        assert!(problem.message.contains(message), "{text}: {problem:?}");
    };
    check("ab{{ x y }}", 2, "not valid Jinja: unexpected identifier");
    check(
        "{% frobnicate %}",
        0,
        "not valid Jinja: unknown statement frobnicate",
    );
    check("{% else %}", 0, "`else` without an `if`");
    check("{% endif %}", 0, "`endif` closes nothing: no tag is open");
    check("{% %}", 0, "this tag is empty");
    check("{% elif + %}", 0, "not valid Jinja");
}

#[test]
fn hostile_templates_end_in_time() {
    let doubling = "{% set x = x ~ x.a %}".repeat(2_000);
    let macros: String = (0..60)
        .map(|n| {
            format!(
                "{{% macro m{}() %}}{{{{ m{n}() }}}}{{{{ m{n}() }}}}{{% endmacro %}}",
                n + 1
            )
        })
        .collect();
    for text in [
        "{% if a %}".repeat(100_000),
        "{% if a %}{% elif b %}".to_owned() + &"{% elif b %}".repeat(100_000) + "{% endif %}",
        format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{{{{ a{} }}}}", "|f".repeat(100_000)),
        "{{".repeat(100_000),
        "{#".repeat(100_000),
        "{% raw %}{%".repeat(20_000),
        "{{ a }}".repeat(20_000),
        "<|im_start|>".repeat(20_000),
        "user:\n".repeat(20_000),
        format!("{doubling}{{{{ x }}}}"),
        format!("{macros}{{{{ m60() }}}}"),
        format!("---\n{}\n---\n", "[".repeat(100_000)),
    ] {
        parse(&text);
    }
}
