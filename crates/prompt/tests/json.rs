//! Canonical JSON by examples: what is written, what is refused, and what the refusal says.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use headwater::json::{
    JsonErrorKind, MAX_BYTES, MAX_DEPTH, Style, ToolOrder, canonical, from_value, parse, tool_list,
    tools,
};

#[track_caller]
fn check(text: &str, spaced: &str, compact: &str) {
    assert_eq!(canonical(text, Style::Spaced).as_deref(), Ok(spaced));
    assert_eq!(canonical(text, Style::Compact).as_deref(), Ok(compact));
}

#[test]
fn keys_are_sorted_by_code_point_at_every_level() {
    check(
        r#"{"b":1,"a":{"z":null,"Z":true},"é":2,"":3}"#,
        r#"{"": 3, "a": {"Z": true, "z": null}, "b": 1, "é": 2}"#,
        r#"{"":3,"a":{"Z":true,"z":null},"b":1,"é":2}"#,
    );
    // UTF-16 would put the emoji, a surrogate pair, before the private use character.
    check(
        "{\"\u{1F600}\":1,\"\u{E000}\":2}",
        "{\"\u{E000}\": 2, \"\u{1F600}\": 1}",
        "{\"\u{E000}\":2,\"\u{1F600}\":1}",
    );
    // By the key, not by its spelling: an escaped `a` is before `b`.
    check(
        r#"{"b":1,"\u0061":2}"#,
        r#"{"a": 2, "b": 1}"#,
        r#"{"a":2,"b":1}"#,
    );
}

#[test]
fn lists_keep_their_order() {
    check(
        "\t[ 3,1 ,\r\n2,[ ],{ } , \"b\",\"a\" ] ",
        r#"[3, 1, 2, [], {}, "b", "a"]"#,
        r#"[3,1,2,[],{},"b","a"]"#,
    );
}

#[test]
fn numbers_stay_as_written() {
    for number in [
        "0",
        "-0",
        "1.0",
        "1e400",
        "1E+2",
        "1e-07",
        "-0.0",
        "12345678901234567890",
        "0.1000000000000000055511151231257827",
        "1e00",
        "-1.5E-300",
    ] {
        check(number, number, number);
    }
    let long = "9".repeat(5_000);
    check(&long, &long, &long);
}

#[test]
fn strings_have_the_fewest_escapes() {
    check(
        r#""\/\u0041\u00e9\ud83d\ude00""#,
        r#""/Aé😀""#,
        r#""/Aé😀""#,
    );
    // As Python's `json.dumps(…, ensure_ascii=False)` prints them.
    check(
        r#""\u0022\u005c\u0008\u000C\n\r\t\u0000\u001F\u007f\u2028""#,
        "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f\u{7F}\u{2028}\"",
        "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f\u{7F}\u{2028}\"",
    );
    // No normalization: that would be another value.
    check(
        "\"e\u{301}\u{FEFF}\"",
        "\"e\u{301}\u{FEFF}\"",
        "\"e\u{301}\u{FEFF}\"",
    );
}

#[test]
fn everything_has_a_place() {
    let text = r#" {"k\n" : [1, "é"]}"#;
    let node = parse(text).unwrap();
    assert_eq!(node.span.start, 1);
    let list = node.member("k\n").unwrap();
    assert_eq!(&text[list.span.start..list.span.end], r#"[1, "é"]"#);
    let word = &list.as_array().unwrap()[1];
    assert_eq!(word.as_str(), Some("é"));
    assert_eq!(&text[word.span.start..word.span.end], r#""é""#);
}

/// `place` is "pointer byte line:column".
#[track_caller]
fn refused(text: &str, kind: &str, place: &str) {
    let error = canonical(text, Style::Spaced).unwrap_err();
    let position = error.position;
    let found = format!(
        "{} {} {}:{}",
        error.pointer, error.byte, position.line, position.column
    );
    assert_eq!((error.kind.as_str(), found.as_str()), (kind, place));
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    refused("", "unexpected_end", " 0 1:1");
    refused(" \n", "unexpected_end", " 2 2:1");
    refused("[1", "unexpected_end", " 2 1:3");
    refused("[1,", "unexpected_end", "/1 3 1:4");
    refused(r#"{"a""#, "unexpected_end", "/a 4 1:5");
    refused(r#"{"a":1"#, "unexpected_end", " 6 1:7");
    refused("\u{FEFF}1", "byte_order_mark", " 0 1:1");
    refused("[\n  é]", "expected_value", "/0 4 2:3");
    refused("[,1]", "expected_value", "/0 1 1:2");
    refused("// note\n1", "expected_value", " 0 1:1");
    refused("{1:2}", "expected_key", " 1 1:2");
    refused("{,}", "expected_key", " 1 1:2");
    refused(r#"{"a" 1}"#, "expected_colon", "/a 5 1:6");
    refused("[1 2]", "expected_comma", " 3 1:4");
    refused("[1}", "expected_comma", " 2 1:3");
    refused(r#"["é" "a"]"#, "expected_comma", " 6 1:6");
    refused("[1, ]", "trailing_comma", " 2 1:3");
    refused(r#"{"a":[1],}"#, "trailing_comma", " 8 1:9");
    refused("1 2", "trailing_data", " 2 1:3");
    refused("{}]", "trailing_data", " 2 1:3");
    refused("{'a':1}", "single_quote", " 1 1:2");
    refused(r#"{"a":['b']}"#, "single_quote", "/a/0 6 1:7");
    refused(r#"["abc]"#, "unterminated_string", "/0 1 1:2");
    refused("\"a\nb\"", "control_character", " 2 1:3");
    refused("[\"\u{0}\"]", "control_character", "/0 2 1:3");
}

#[test]
fn what_two_readers_could_understand_differently_is_refused() {
    refused(r#"{"a":1,"b":2,"a":3}"#, "duplicate_key", "/a 13 1:14");
    refused(r#"{"a":1,"\u0061":3}"#, "duplicate_key", "/a 7 1:8");
    refused(
        r#"{"x":[{"c~/d":1,"c~/d":1}]}"#,
        "duplicate_key",
        "/x/0/c~0~1d 16 1:17",
    );
    // Of several the first in the text.
    refused(
        r#"{"b":1,"a":1,"b":2,"a":2}"#,
        "duplicate_key",
        "/b 13 1:14",
    );
    // The same key in another object is another key.
    check(
        r#"[{"a":1},{"a":1}]"#,
        r#"[{"a": 1}, {"a": 1}]"#,
        r#"[{"a":1},{"a":1}]"#,
    );

    for text in [
        "NaN",
        "nan",
        "-NaN",
        "Infinity",
        "-Infinity",
        "+inf",
        "-inf",
    ] {
        refused(text, "not_finite", " 0 1:1");
    }
    for text in [
        "01", "-01", "00", "+1", ".5", "1.", "-", "1e", "1e+", "1.e1", "0x10", "1_000", "1-2",
        "--1", "1.2.3", "1e1.5", "1n",
    ] {
        refused(text, "bad_number", " 0 1:1");
    }
    for text in ["True", "None", "undefined", "nul", "nullx", "tru", "_"] {
        refused(text, "bad_word", " 0 1:1");
    }
    for text in [
        r#""\x41""#,
        r#""\u12""#,
        r#""\u12G4""#,
        r#""\u+123""#,
        r#""\"#,
        "\"\\u00é\"",
    ] {
        refused(text, "bad_escape", " 1 1:2");
    }
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
        r#""\ud800\ud800""#,
        r#""\ud800\u0041""#,
        r#""\udc00\ud800""#,
        r#""\uDBFF\uE000""#,
    ] {
        refused(text, "lone_surrogate", " 1 1:2");
    }
    for control in '\0'..=' ' {
        let text = format!("\"{control}\"");
        match control {
            ' ' => check(&text, &text, &text),
            _ => assert_eq!(
                canonical(&text, Style::Spaced).unwrap_err().kind,
                JsonErrorKind::ControlCharacter
            ),
        }
    }
    // White space elsewhere, not here.
    for space in ["\u{B}", "\u{C}", "\u{85}", "\u{A0}", "\u{2028}", "\u{3000}"] {
        refused(&format!("{space}1"), "expected_value", " 0 1:1");
        refused(&format!("1{space}"), "trailing_data", " 1 1:2");
    }
}

#[test]
fn depth_and_size_have_limits() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    let error = parse(&nested(MAX_DEPTH + 1)).unwrap_err();
    assert_eq!(error.kind, JsonErrorKind::TooDeep);
    assert!(error.kind.problem().contains(&MAX_DEPTH.to_string()));
    assert_eq!(error.byte, MAX_DEPTH);
    assert_eq!(error.pointer, "/0".repeat(MAX_DEPTH));
    assert_eq!(parse(&"[".repeat(1_000_000)).unwrap_err().byte, MAX_DEPTH);

    let just = format!("1{}", " ".repeat(MAX_BYTES - 1));
    assert!(parse(&just).is_ok());
    let mebibytes = format!("{} MiB", MAX_BYTES >> 20);
    assert!(JsonErrorKind::TooLarge.problem().contains(&mebibytes));
    assert_eq!(
        parse(&(just + " ")).unwrap_err().kind,
        JsonErrorKind::TooLarge
    );
}

#[test]
fn an_error_says_where_and_what_next_and_shows_no_value() {
    let error = canonical("{\"card\u{200B}\": [\"4111 1111\", NaN]}", Style::Spaced).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`/card⟨U+200B⟩/1`, line 1, column 25 (byte 26): JSON has neither NaN nor infinities; \
         send `null`, or leave the key out"
    );
    let error = canonical(&format!("{{\"{}\":}}", "k".repeat(9_999)), Style::Spaced).unwrap_err();
    assert_eq!(error.pointer.len(), 10_000);
    assert!(error.to_string().len() < 500, "{error}");
}

const OPENAI: &str = r#"[
  {"type": "function", "function": {"name": "search", "parameters": {"type": "object", "required": ["q", "a"]}}},
  {"type": "function", "function": {"name": "Fetch", "description": "Gets a page."}}
]"#;

#[test]
fn tools_are_sorted_by_name_whatever_their_form() {
    let by_name = |list: &str| tools(list, ToolOrder::ByName, Style::Compact).unwrap();
    assert_eq!(
        by_name(OPENAI),
        concat!(
            r#"[{"function":{"description":"Gets a page.","name":"Fetch"},"type":"function"},"#,
            r#"{"function":{"name":"search","parameters":{"required":["q","a"],"type":"object"}},"type":"function"}]"#
        )
    );
    let anthropic = r#"[{"name":"b","input_schema":{}},{"name":"a","input_schema":{}}]"#;
    assert_eq!(
        by_name(anthropic),
        r#"[{"input_schema":{},"name":"a"},{"input_schema":{},"name":"b"}]"#
    );
    let bedrock = r#"[{"toolSpec":{"name":"b"}},{"toolSpec":{"name":"a"}}]"#;
    assert_eq!(
        by_name(bedrock),
        r#"[{"toolSpec":{"name":"a"}},{"toolSpec":{"name":"b"}}]"#
    );
    // Hosted tools have a type and no name; two of one type stand in the order of their text.
    let hosted =
        r#"[{"type":"mcp","url":"2"},{"name":"x"},{"type":"mcp","url":"1"},{"type":"web_search"}]"#;
    assert_eq!(
        by_name(hosted),
        r#"[{"type":"mcp","url":"1"},{"type":"mcp","url":"2"},{"type":"web_search"},{"name":"x"}]"#
    );
    assert_eq!(by_name("[]"), "[]");
}

#[test]
fn tools_can_keep_their_order() {
    let list = r#"[{"name":"b"},{"name":"a"},{}]"#;
    let text = tools(list, ToolOrder::AsGiven, Style::Spaced);
    assert_eq!(text.as_deref(), Ok(r#"[{"name": "b"}, {"name": "a"}, {}]"#));
}

#[test]
fn a_list_of_texts_is_the_same_list() {
    let texts = [r#"{"name":"b"}"#.to_owned(), r#" {"name":"a"} "#.to_owned()];
    for order in [ToolOrder::ByName, ToolOrder::AsGiven] {
        assert_eq!(
            tool_list(&texts, order, Style::Spaced),
            tools(&format!("[{}]", texts.join(",")), order, Style::Spaced),
        );
    }
    // One text is one tool.
    let error = tool_list(&["{},{}"], ToolOrder::AsGiven, Style::Spaced).unwrap_err();
    assert_eq!(
        (error.kind.as_str(), error.pointer.as_str()),
        ("trailing_data", "/0")
    );
}

#[track_caller]
fn tools_refused(list: &str, order: ToolOrder, kind: &str, pointer: &str, byte: usize) {
    let error = tools(list, order, Style::Spaced).unwrap_err();
    assert_eq!(
        (error.kind.as_str(), error.pointer.as_str(), error.byte),
        (kind, pointer, byte)
    );
}

#[test]
fn tools_that_a_model_cannot_tell_apart_are_refused() {
    let twice = r#"[{"name":"a"},{"function":{"name":"\u0061"}}]"#;
    for order in [ToolOrder::ByName, ToolOrder::AsGiven] {
        tools_refused(twice, order, "duplicate_tool", "/1/function/name", 34);
    }
    let error = tool_list(&[r#"{"name":"a"}"#; 2], ToolOrder::AsGiven, Style::Spaced).unwrap_err();
    assert_eq!((error.pointer.as_str(), error.byte), ("/1/name", 8));

    tools_refused("[{\"name\":1}]", ToolOrder::ByName, "unnamed_tool", "/0", 1);
    tools_refused(r#"["a"]"#, ToolOrder::ByName, "unnamed_tool", "/0", 1);
    tools_refused(" {}", ToolOrder::ByName, "not_a_list", "", 1);
    tools_refused(
        r#"[{"a":1,"a":2}]"#,
        ToolOrder::ByName,
        "duplicate_key",
        "/0/a",
        8,
    );
}

#[test]
fn a_value_of_serde_json_is_written_as_it_is() {
    let value: serde_json::Value =
        serde_json::from_str(r#"{"b":1e2,"a":"\u00e9","n":9007199254740993}"#).unwrap();
    let text = from_value(&value, Style::Compact).unwrap();
    // The other reader has made a float of `1e2`.
    assert_eq!(text, r#"{"a":"é","b":100.0,"n":9007199254740993}"#);

    let deep = (0..=MAX_DEPTH).fold(
        serde_json::Value::Null,
        |value, _| serde_json::json!({ "k": value }),
    );
    let error = from_value(&deep, Style::Compact).unwrap_err();
    assert_eq!(error.kind, JsonErrorKind::TooDeep);
    assert_eq!(error.pointer, "/k".repeat(MAX_DEPTH));
}
