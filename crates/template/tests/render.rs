//! Rendering against the outcomes that Jinja2 recorded, and what a hostile template may not do.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write;

use headwater_template::{
    ChatTemplate, Limits, Moment, RenderError, RenderErrorKind, RenderOptions, Source, Values,
};
use proptest::prelude::*;

const EXPECTED: &str = include_str!("../../../tests/templates/expected.json");

fn render(template: &str, values: &Values) -> Result<String, RenderError> {
    let source = Source::from_bytes(template.as_bytes()).unwrap();
    let options = RenderOptions {
        now: Moment::date(2024, 7, 4).unwrap().at(15, 5, 9),
        ..RenderOptions::default()
    };
    ChatTemplate::compile(source)?.render(values, &options)
}

#[test]
fn every_recorded_case_comes_out_byte_for_byte() {
    let expected: serde_json::Value = serde_json::from_str(EXPECTED).unwrap();
    let mut wrong = String::new();
    for case in expected["cases"].as_array().unwrap() {
        let field = |name: &str| case[name].as_str();
        let values = Values::from_json(field("values").unwrap()).unwrap();
        let found = render(field("template").unwrap(), &values);
        let name = field("name").unwrap();
        match (field("text"), found) {
            (Some(text), Ok(found)) if text == found => {}
            (Some(text), Ok(found)) => {
                writeln!(wrong, "{name}:\n  {text:?}\n  {found:?}").unwrap();
            }
            (Some(_), Err(error)) => writeln!(wrong, "{name}: {error}").unwrap(),
            (None, Ok(found)) => writeln!(wrong, "{name}: an error became {found:?}").unwrap(),
            (None, Err(_)) => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn errors_say_what_and_where() {
    let check = |template: &str, kind, expected: &str| {
        let error = render(template, &Values::new()).unwrap_err();
        assert_eq!((error.kind, error.to_string().as_str()), (kind, expected));
    };
    use RenderErrorKind::{Operation, Raised, Syntax};
    check(
        "é\n{% generation %}{% set x = 1 %}ü {{ raise_exception('no system role') }}{% endgeneration %}",
        Raised,
        "2:37: the template refuses the values: no system role",
    );
    check(
        "---\na: b\n---\n{{ x.y }}",
        Operation,
        "4:4: undefined value",
    );
    check(
        "{% frob %}",
        Syntax,
        "1:1: this tag is not valid Jinja: unknown statement frob",
    );
    check(
        "a\n{{ 'x' | frob }}",
        Operation,
        "2:10: unknown filter: filter frob is unknown",
    );
    check(
        "{% macro m() %}\n{{ [1].frob() }}{% endmacro %}{{ m() }}",
        Operation,
        "2:7: unknown method: sequence has no method named frob",
    );
    let without_date =
        ChatTemplate::compile(Source::from_bytes(b"{{ strftime_now('%d') }}").unwrap());
    let error = without_date
        .unwrap()
        .render(&Values::new(), &RenderOptions::default())
        .unwrap_err();
    assert!(
        error.to_string().contains("no date was handed in"),
        "{error}"
    );
}

#[test]
fn front_matter_is_no_prompt() {
    let check = |template: &str, expected| {
        assert_eq!(render(template, &Values::new()).unwrap(), expected);
    };
    check("---\nvolatility: {}\n---\nhi", "hi");
    check(
        "\u{FEFF}{# headwater: {volatility: {a: static}} #}\nhi\n",
        "hi",
    );
}

fn stopped(template: &str) -> Result<String, RenderError> {
    let limits = Limits {
        steps: 300_000,
        ..Limits::default()
    };
    let options = RenderOptions {
        limits,
        ..RenderOptions::default()
    };
    let source = Source::from_bytes(template.as_bytes()).unwrap();
    ChatTemplate::compile(source)?.render(&Values::new(), &options)
}

/// Each of these takes all memory or never ends where nothing stops it.
#[test]
fn hostile_templates_are_stopped() {
    let loops = "{% for a in range(99999) %}";
    let ends = "{% endfor %}";
    let long = "x".repeat(100_000);
    let templates = [
        format!("{loops}{loops}{loops}x{ends}{ends}{ends}"),
        format!("{loops}{long}{ends}"),
        format!("{{% set x %}}{loops}{loops}{long}{ends}{ends}{{% endset %}}"),
        format!("{{% set n = namespace(x='xx') %}}{loops}{{% set n.x = n.x ~ n.x %}}{ends}"),
        format!("{{% set n = namespace(x=[1]) %}}{loops}{{% set n.x = n.x + n.x %}}{ends}"),
        format!(
            "{{% set n = namespace(x=[1]) %}}{loops}{{% set n.x = [n.x] %}}{ends}{{{{ n.x }}}}"
        ),
        format!(
            "{{% set n = namespace(x='xx') %}}{loops}{{% set n.x = n.x | replace('x', 'xxx') %}}{ends}"
        ),
        "{% macro m(x) %}{{ m(x ~ x) }}{% endmacro %}{{ m('x') }}".to_owned(),
        "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}".to_owned(),
        "{% set n = namespace() %}{% set n.n = n %}{{ n }}".to_owned(),
        "{{ 'a' * 1000000000 }}".to_owned(),
        "{{ '%1000000000d' | format(1) }}{{ '{:>1000000000}'.format(1) }}".to_owned(),
        "{{ 'a\nb' | indent(1000000000) }}".to_owned(),
        "{{ 'a'.center(1000000000) }}".to_owned(),
        "{{ [1] | batch(1000000000, 1) }}".to_owned(),
        "{{ [1] | tojson(indent=1000000000) }}".to_owned(),
        "{{ range(1000000000) | list }}".to_owned(),
        format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000)),
        "{% if a %}".repeat(100_000),
        format!("{{{{ 1{} }}}}", "+1".repeat(100_000)),
    ];
    for template in templates {
        let start: String = template.chars().take(90).collect();
        assert!(stopped(&template).is_err(), "{start}");
    }
}

#[test]
fn limits_are_the_callers() {
    let template = ChatTemplate::compile(Source::from_bytes(b"{{ x }}{{ x }}").unwrap()).unwrap();
    let check = |limits, expected: Option<&str>| {
        let options = RenderOptions {
            limits,
            ..RenderOptions::default()
        };
        let outcome = template.render(&Values::new().with("x", "12345"), &options);
        let message = outcome.err().map(|error| error.to_string());
        assert_eq!(message.as_deref(), expected);
    };
    let wide = Limits::default();
    check(wide, None);
    check(
        Limits {
            output_bytes: 10,
            ..wide
        },
        None,
    );
    check(
        Limits {
            output_bytes: 9,
            ..wide
        },
        Some("the prompt is longer than 9 bytes; raise `Limits::output_bytes`"),
    );
    check(
        Limits { steps: 3, ..wide },
        Some("1:11: the template takes too many steps; raise `Limits::steps` if it is meant to"),
    );
}

/// Pieces of templates that make trouble when they meet.
const FRAGMENTS: [&str; 48] = [
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "{%-",
    "-%}",
    "{%+",
    "{{ x }}",
    "{{- y.z -}}",
    "{{ l[::-1] }}",
    "{{ x | tojson(indent=2) }}",
    "{{ l | join(',') }}",
    "{% for a in l %}",
    "{% for k, v in d.items() if v %}",
    "{% endfor %}",
    "{% if x %}",
    "{% elif d %}",
    "{% else %}",
    "{% endif %}",
    "{% set x = x ~ l %}",
    "{% set ns = namespace(a=1) %}",
    "{% set ns.a = [ns.a, ns] %}",
    "{% set y %}",
    "{% endset %}",
    "{% macro m(a, b=1) %}",
    "{% endmacro %}",
    "{{ m(x) }}",
    "{% call m() %}",
    "{% endcall %}",
    "{% filter upper %}",
    "{% endfilter %}",
    "{% with q = x %}",
    "{% endwith %}",
    "{% raw %}",
    "{% endraw %}",
    "{% generation %}",
    "{%- endgeneration -%}",
    "{% break %}",
    "{{ raise_exception('é') }}",
    "{{ strftime_now('%d') }}",
    "{{ x.split() }}",
    "{{ x.rsplit('', 1) }}",
    "---\n",
    "\n",
    "é\u{2028} ",
    "\t",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_mix_of_fragments_ends(picks in prop::collection::vec(0..FRAGMENTS.len(), 0..20), noise in "\\PC{0,6}") {
        let mut template: String = picks.iter().map(|pick| FRAGMENTS[*pick]).collect();
        template.push_str(&noise);
        let values = Values::from_json(r#"{"x": " ä b ", "l": [1, "a", null], "d": {"items": 1, "é": {}}}"#).unwrap();
        let once = render(&template, &values);
        prop_assert_eq!(&once, &render(&template, &values));
        if let Err(error) = once {
            prop_assert!(!error.message.is_empty());
        }
    }

    #[test]
    fn text_without_tags_comes_out_as_it_is(text in "[a-zé \\t#%}]{0,40}") {
        prop_assert_eq!(render(&text, &Values::new()).unwrap(), text);
    }

    /// What keeps the watch over a template prints nothing, whatever stands around it.
    #[test]
    fn the_watch_changes_no_white_space(
        before in "[ \\n]{0,4}", open in "-|\\+|", close in "-|\\+|", after in "[ \\n]{0,4}",
    ) {
        let watched = format!("a{before}{{%{open} set x = 1 {close}%}}{after}b");
        let bare = format!("a{before}{{%{open} if true {close}%}}{{% endif {close}%}}{after}b");
        prop_assert_eq!(render(&watched, &Values::new()).unwrap(), render(&bare, &Values::new()).unwrap());
    }
}
