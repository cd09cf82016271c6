//! Templates in cache order: what is refused on load, and where the parts of a prompt begin.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use headwater_template::{
    ChatTemplate, LoadError, PromptTemplate, RenderOptions, Source, Values, Volatility,
};
use proptest::prelude::*;

const FRONT: &str = "{# headwater: {volatility: {s: static, t: semi_static, d: dynamic}} #}";

fn source(body: &str) -> Source {
    Source::from_bytes(format!("{FRONT}{body}").as_bytes()).unwrap()
}

fn values() -> Values {
    Values::from_json(r#"{"s": ["a", "b"], "t": "T", "d": ["x", "y"]}"#).unwrap()
}

#[track_caller]
fn check(body: &str, expected: &[&str]) {
    let template =
        PromptTemplate::load(source(body)).unwrap_or_else(|error| panic!("{body}: {error}"));
    let parts = template
        .render(&values(), &RenderOptions::default())
        .unwrap();
    let found: Vec<_> = parts
        .iter()
        .map(|(volatility, text)| format!("{}:{text}", volatility.as_str()))
        .collect();
    assert_eq!(found, expected, "{body}");
}

#[test]
fn parts_begin_where_the_text_begins_to_depend() {
    check("", &[]);
    check("ab", &["static:ab"]);
    check("{{ d }}", &["dynamic:['x', 'y']"]);
    check(
        "a {{ s[0] }} b {{ t }} c {{ d[0] }} e",
        &["static:a a b ", "semi_static:T c ", "dynamic:x e"],
    );
    // White space that a tag strips.
    check(
        "a\n  {% for x in d %}\n{{ x }}\n  {% endfor %}\n",
        &["static:a\n", "dynamic:x\ny\n"],
    );
    check("a   {{- d[0] }}", &["static:a", "dynamic:x"]);
    check("a\n  {{ d[0] }}", &["static:a\n  ", "dynamic:x"]);
    // Static loops and conditions are static.
    check(
        "{% for x in s %}{{ x }}{% if x == 'a' %}-{% endif %}{% endfor %}{{ d[0] }}",
        &["static:a-b", "dynamic:x"],
    );
    // What a value decides depends on it.
    check("a{% if d %}b{% endif %}", &["static:a", "dynamic:b"]);
    check(
        "a{% if s is string %}b{% elif d %}c{% endif %}",
        &["static:a", "dynamic:c"],
    );
    check(
        "a{% for x in s if x in d %}{{ x }}{% else %}n{% endfor %}",
        &["static:a", "dynamic:n"],
    );
    // Through names.
    check(
        "{% set x = d[0] %}a{% set y = x ~ 1 %}b{{ y }}",
        &["static:ab", "dynamic:x1"],
    );
    check(
        "{% set n = namespace(x=1) %}{% if d %}{% set n.x = 2 %}{% endif %}a{{ n.x }}",
        &["dynamic:a2"],
    );
    check(
        "{% set x %}[{{ d[0] }}]{% endset %}a{{ x }}",
        &["static:a", "dynamic:[x]"],
    );
    // A macro's text is as volatile as what goes into it, wherever it stands.
    check(
        "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(1) }}{{ m(d[0]) }}",
        &["dynamic:<1><x>"],
    );
    check(
        "{% macro m() %}<{{ d[0] }}>{% endmacro %}a{{ m() }}",
        &["static:a", "dynamic:<x>"],
    );
    // The same name in two loops is two names.
    check(
        "{% for x in s %}{{ x }}{% endfor %}{% for x in d %}{{ x }}{% endfor %}",
        &["static:ab", "dynamic:xy"],
    );
    // A date is of the request.
    check(
        "a{% if false %}{{ strftime_now('%d') }}{% endif %}b",
        &["static:ab"],
    );
}

#[test]
fn what_breaks_the_order_is_refused() {
    let check = |body: &str, expected: &str| {
        let error = PromptTemplate::load(source(body)).unwrap_err();
        assert_eq!(error.to_string(), expected, "{body}");
    };
    check(
        "\n{{ d }}\nYou are a clerk who answers politely.",
        "2:4: HW101 `d` is new in every request, and static text follows it; Put the static text \
         first and the value behind its last word.",
    );
    check(
        "\n{{ t }}\nYou are a clerk who answers politely.",
        "2:4: HW102 `t` differs between sessions, and static text that all of them share follows \
         it; Order the prompt static, then semi-static, then dynamic.",
    );
    check(
        "\n{{ d }}\n{{ t }}",
        "3:4: `t` (semi_static) stands behind `d` (dynamic), which changes more often; put static \
         before semi_static before dynamic",
    );
    check(
        "\n{{ u.v }}",
        "2:4: nothing says how often `u` changes; declare it at the top of the template: \
         {# headwater: {volatility: {u: dynamic}} #}",
    );
    check(
        "\n{% if %}",
        "2:1: this tag is not valid Jinja: unexpected end of block",
    );
    assert!(matches!(
        PromptTemplate::load(source("{{ d }} and then a long static text")),
        Err(LoadError::OutOfOrder(faults)) if faults[0].volatility == Volatility::Dynamic
    ));
}

/// Bodies that are in order whatever follows, so that parts can be compared.
const FRAGMENTS: [&str; 22] = [
    "a ",
    "\n",
    "  ",
    "{{ s }}",
    "{{- t }}",
    "{{ d }}",
    "{% for x in s %}",
    "{% for x in d %}",
    "{{ x }}",
    "{% endfor %}",
    "{% if d %}",
    "{% if t == 'T' %}",
    "{% else %}",
    "{% endif %}",
    "{% set x = d %}",
    "{% set x = t ~ x %}",
    "{% set y %}",
    "{% endset %}",
    "{{ y }}",
    "{% macro m(x) %}",
    "{% endmacro %}",
    "{{ m(t) }}",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    /// The law that a rung rests on: other dynamic values leave the parts before them as they are,
    /// and the parts together are what the template prints.
    #[test]
    fn stable_parts_do_not_depend_on_later_values(picks in prop::collection::vec(0..FRAGMENTS.len(), 0..14)) {
        let mut body = "{% set x = 1 %}{% set y = 1 %}".to_owned();
        body.extend(picks.iter().map(|pick| FRAGMENTS[*pick]));
        let Ok(template) = PromptTemplate::load(source(&body)) else { return Ok(()) };
        let options = RenderOptions::default();
        let part = |values: &Values, most: Volatility| -> Option<String> {
            let parts = template.render(values, &options).ok()?;
            Some(parts.into_iter().filter(|(volatility, _)| *volatility <= most).map(|(_, text)| text).collect())
        };
        let one = values();
        let whole = ChatTemplate::compile(source(&body)).unwrap().render(&one, &options).ok();
        prop_assert_eq!(part(&one, Volatility::Dynamic), whole);
        for other in [one.clone().with("d", ["z"]), one.clone().with("d", "")] {
            for most in [Volatility::Static, Volatility::SemiStatic] {
                if let (Some(a), Some(b)) = (part(&one, most), part(&other, most)) {
                    prop_assert_eq!(a, b, "{}", body);
                }
            }
        }
        let other = one.clone().with("t", "U");
        if let (Some(a), Some(b)) = (part(&one, Volatility::Static), part(&other, Volatility::Static)) {
            prop_assert_eq!(a, b, "{}", body);
        }
    }
}
