//! Each form of file: which prompts are in it, in which order, with which roles, and where in the file.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use headwater_template::{Document, PieceKind, Template, read};

fn document(path: &str, text: &str) -> Document {
    read(path, text.as_bytes(), &|_| None).unwrap()
}

/// Each piece that is not text, as `kind paths line:column bytes-after`.
fn pieces(template: &Template) -> Vec<String> {
    let mut lines = Vec::new();
    for piece in template.pieces() {
        let (kind, value) = match &piece.kind {
            PieceKind::Value(value) => ("", Some(value)),
            PieceKind::History(value) => ("history ", Some(value)),
            PieceKind::Loop(value) => ("for ", Some(value)),
            PieceKind::Condition(value) => ("if ", Some(value)),
            PieceKind::Include => ("include ", None),
            PieceKind::Marker(_) => ("marker ", None),
            _ => continue,
        };
        let atoms = value.iter().flat_map(|value| &value.atoms);
        let paths: Vec<_> = atoms.map(|atom| atom.path.as_str()).collect();
        let role = piece
            .role
            .map_or(String::new(), |role| format!(" {}", role.as_str()));
        let last = if piece.in_last_turn { " last" } else { "" };
        lines.push(format!(
            "{kind}{} {} {}{role}{last}",
            paths.join("+"),
            template.source().position(piece.span.start),
            piece.static_bytes_after,
        ));
    }
    lines
}

#[track_caller]
fn check(path: &str, text: &str, format: &str, expected: &[&[&str]]) {
    let document = document(path, text);
    assert_eq!(document.format.as_str(), format, "{text}");
    assert_eq!(document.problems, [], "{text}");
    let found: Vec<Vec<String>> = document
        .templates
        .iter()
        .map(|template| {
            assert_eq!(template.problems(), [], "{text}");
            pieces(template)
        })
        .collect();
    assert_eq!(found, expected, "{text}\n{:?}", document.notes);
}

#[test]
fn handlebars() {
    let check = |text, expected: &[&str]| check("a.hbs", text, "handlebars", &[expected]);
    check("{{a}} 12345", &["a 1:3 5"]);
    check("{{{a.b}}} {{&c}}12", &["a.b 1:4 2", "c 1:14 2"]);
    check("{{! {{x }}{{!-- {{y}} --}}{{z}}", &["z 1:29 0"]);
    check(
        "{{#each users}}{{name}} {{@index}} {{../title}}12{{/each}}3",
        &["for users 1:9 1", "users.name 1:18 3", "title 1:38 3"],
    );
    check(
        "{{#each users as |user|}}{{user.name}}{{this.age}}{{/each}}",
        &["for users 1:9 0", "users.name 1:28 0", "users.age 1:41 0"],
    );
    check(
        "{{#if premium}}12345{{else if trial}}1{{else}}{{x}}{{/if}}3",
        &["if premium 1:1 1", "if trial 1:21 1", "x 1:49 1"],
    );
    check("{{#unless a}}12{{/unless}}", &["if a 1:1 0"]);
    check(
        "{{#with user}}{{name}} {{@root.day}}{{/with}}",
        &["if user 1:1 0", "user.name 1:17 0", "day 1:26 0"],
    );
    check(
        "{{formatDate now format=\"x\"}}12",
        &["now+formatDate 1:3 2"],
    );
    check("{{upper (trim name)}}1", &["name+trim+upper 1:3 1"]);
    check(
        "{{#*inline \"card\"}}{{who}}12{{/inline}}{{> card who=user}}3",
        &["who 1:22 3"],
    );
    check("{{> missing}}12", &["include  1:1 2"]);
    check(
        "\\{{a}} {{~b~}} {{{{raw}}}}{{c}}{{{{/raw}}}}",
        &["b 1:11 5"],
    );
    check("{{#bold}}12{{x}}{{/bold}}", &["if bold 1:1 0", "x 1:14 0"]);
}

#[test]
fn mustache() {
    let check = |text, expected: &[&str]| check("a.mustache", text, "mustache", &[expected]);
    check(
        "{{#items}}{{name}}12{{/items}}{{^items}}none{{/items}}",
        &["for items 1:4 4", "items.name 1:13 6", "if items 1:31 0"],
    );
    check(
        "{{=<% %>=}}<% a %>{{x}}<%={{ }}=%>{{b}}12",
        &["a 1:15 7", "b 1:37 2"],
    );
    check("{{#premium}}123{{/premium}}", &["if premium 1:1 0"]);
}

#[test]
fn go() {
    let check = |text, expected: &[&str]| check("a.gotmpl", text, "go-template", &[expected]);
    check("{{ .User.Name }}12345", &["User.Name 1:4 5"]);
    check("{{- /* note }} */ -}}{{.A}}", &["A 1:24 0"]);
    check(
        "{{range $k, $v := .Tools}}{{$k}}: {{$v.Name}} {{.Kind}} {{$.Day}}{{end}}1",
        &[
            "for Tools 1:19 1",
            "Tools 1:29 2",
            "Tools.Name 1:37 1",
            "Tools.Kind 1:49 1",
            "Day 1:59 1",
        ],
    );
    check(
        "{{if and .A (eq .B \"x\")}}12{{else if .C}}345{{else}}6{{end}}7",
        &["if A+B+eq+and 1:1 1", "if C 1:28 1"],
    );
    check(
        "{{$x := now | date \"x\"}}{{with .User}}{{.Name}}{{else}}{{.Z}}{{end}}{{$x}}",
        &[
            "if User 1:25 0",
            "User.Name 1:41 0",
            "Z 1:58 0",
            "now+date 1:71 0",
        ],
    );
    check(
        "{{template \"card\" .User}}1{{define \"card\"}}{{.Name}}23{{end}}",
        &["User.Name 1:46 3"],
    );
    check(
        "{{define \"all\"}}{{.Name}}{{end}}{{template \"all\" .}}12",
        &["Name 1:19 2"],
    );
    check("{{block \"b\" .X}}{{.Y}}{{end}}", &["X.Y 1:19 0"]);
    check(
        "{{.Created.Format \"2006\"}}",
        &["Created+Created.Format 1:3 0"],
    );
    check("{{printf \"%s }}\" .A}}1", &["A+printf 1:3 1"]);
}

#[test]
fn prompty_and_dotprompt() {
    check(
        "a.prompty",
        "---\nname: x\nmodel:\n  api: chat\n---\nsystem:\nBe kind. {{day}}\n\nuser:\n{{question}}\n",
        "prompty",
        &[&["day 7:12 0 system", "question 10:3 0 user last"]],
    );
    check(
        "a.prompty",
        "---\ntemplate:\n  format: mustache\n---\nsystem:\n{{#rules}}{{.}}{{/rules}}",
        "prompty",
        &[&["for rules 6:4 0 system", "rules 6:13 0 system"]],
    );
    check(
        "a.prompt",
        "---\nmodel: m\n---\n{{role \"system\"}}\n{{day}} rules\n{{history}}\n{{role \"user\"}}{{q}} 12",
        "dotprompt",
        &[&[
            "day 5:3 7 system",
            "history 6:3 2 system",
            "q 7:18 2 user last",
        ]],
    );
    check(
        "a.prompt",
        "---\nmodel: m\n---\n{% if a %}{{ b }}{% endif %}",
        "jinja",
        &[&["if a 4:1 0", "b 4:14 0"]],
    );
}

#[test]
fn promptfoo() {
    check(
        "promptfooconfig.yaml",
        "prompts:\n  - |\n    Now: {{ now }}\n    Be kind.\n  - 'One: {{ a }}'\n  - file://x.txt\n  - label: two\n    raw: \"a\\n{{ b }}12\"\nproviders: [x]\n",
        "promptfoo",
        &[&["now 3:13 8"], &["a 5:14 0"], &["b 8:17 2"]],
    );
    check(
        "chat.json",
        "[{\"role\": \"system\", \"content\": \"{{day}} rules\"}, {\"role\": \"user\", \"content\": \"{{ q }}\"}]",
        "promptfoo",
        &[&["day 1:35 5 system", "q 1:82 0 user last"]],
    );
}

#[test]
fn langchain() {
    check(
        "p.yaml",
        "_type: prompt\ninput_variables: [a]\ntemplate: >-\n  One {a}\n  two {{b}}\n",
        "langchain",
        &[&["a 4:8 9"]],
    );
    check(
        "p.json",
        r#"{"_type": "prompt", "template_format": "jinja2", "template": "\u00e9 {{ a }}"}"#,
        "langchain",
        &[&["a 1:73 0"]],
    );
    check(
        "p.json",
        r#"{"lc": 1, "type": "constructor", "id": ["x", "ChatPromptTemplate"], "kwargs": {"messages": [
          {"id": ["SystemMessagePromptTemplate"], "kwargs": {"prompt": {"kwargs": {"template": "{day} rules"}}}},
          {"id": ["HumanMessagePromptTemplate"], "kwargs": {"prompt": {"kwargs": {"template": "{q}"}}}}]}}"#,
        "langchain",
        &[&["day 2:98 5 system", "q 3:97 0 user last"]],
    );
}

#[test]
fn a_placeholder_of_messages_is_history() {
    let history = r#"{"lc": 1, "id": ["langchain", "prompts", "chat", "MessagesPlaceholder"], "kwargs": {"variable_name": "chat_history", "optional": true}}"#;
    let system = r#"{"id": ["SystemMessagePromptTemplate"], "kwargs": {"prompt": {"kwargs": {"template": "{day} rules"}}}}"#;
    let human = r#"{"id": ["HumanMessagePromptTemplate"], "kwargs": {"prompt": {"kwargs": {"template": "{q}"}}}}"#;
    let steps =
        r#"{"id": ["MessagesPlaceholder"], "kwargs": {"variable_name": "agent_scratchpad"}}"#;
    let check = |messages: &[&str], expected: &[&str]| {
        let text = format!(
            "{{\"lc\": 1, \"id\": [\"ChatPromptTemplate\"], \"kwargs\": {{\"messages\": [\n{}]}}}}",
            messages.join(",\n")
        );
        check("p.json", &text, "langchain", &[expected]);
    };
    check(
        &[system, history, human],
        &[
            "day 2:88 5 system",
            "history chat_history 3:103 0 other",
            "q 4:87 0 user last",
        ],
    );
    // What the agent did belongs to the newest turn.
    check(
        &[system, history, human, steps],
        &[
            "day 2:88 5 system",
            "history chat_history 3:103 0 other",
            "q 4:87 0 user last",
            "history agent_scratchpad 5:62 0 user last",
        ],
    );
    check(
        &[history, system, human],
        &[
            "history chat_history 2:103 5 other",
            "day 3:88 5 system",
            "q 4:87 0 user last",
        ],
    );
}

#[test]
fn chats_in_strings() {
    let json = "prompts:\n  - |\n    [{\"role\": \"system\", \"content\": \"{{ day }} rules\"},\n     {\"role\": \"user\", \"content\": \"{{ q }}\"}]\nproviders: [x]\n";
    check(
        "promptfooconfig.yaml",
        json,
        "promptfoo",
        &[&["day 3:40 5 system", "q 4:38 0 user last"]],
    );
    // Escapes of JSON inside escapes of YAML.
    check(
        "promptfooconfig.yaml",
        r#"prompts: ["[{\"role\": \"user\", \"content\": \"\\u00e9 {{ a }}\\n12\"}]"]"#,
        "promptfoo",
        &[&["a 1:60 2 user last"]],
    );
    check(
        "promptfooconfig.yaml",
        "prompts:\n  - |\n    - role: system\n      content: '{{ day }} rules'\n    - role: user\n      content: >-\n        {{ q }}\n",
        "promptfoo",
        &[&["day 4:20 5 system", "q 7:12 0 user last"]],
    );
    // As a file of its own, whatever it is called.
    for name in ["chat.txt", "chat.j2", "chat.md"] {
        let text = "[{\"role\": \"system\", \"content\": \"{{ day }} rules\"},\n {\"role\": \"user\", \"content\": \"{{ q }}\"}]\n";
        check(
            name,
            text,
            "promptfoo",
            &[&["day 1:36 5 system", "q 2:34 0 user last"]],
        );
    }
    // A loop between the messages makes it a template.
    check(
        "promptfooconfig.yaml",
        "prompts:\n  - |\n    [{% for m in x %}{\"role\": \"user\", \"content\": \"{{ m }}\"},{% endfor %}\n    ]\n",
        "promptfoo",
        &[&["for x 3:18 1", "x 3:54 4 user last"]],
    );
}

#[test]
fn every_document_of_a_yaml_file() {
    check(
        "prompts.yaml",
        "note: &n 'Day: {{ day }} 1234'\n---\ndescription: x\nprompts: ['{{ a }} 12']\n---\n- {role: user, content: '{{ q }}'}\n",
        "promptfoo",
        &[&["a 4:15 2"], &["q 6:29 0 user last"]],
    );
    check(
        "promptfooconfig.yaml",
        "texts:\n  - &day 'Day: {{ day }} 1234'\nprompts: [*day]\n",
        "promptfoo",
        &[&["day 2:19 4"]],
    );
}

#[test]
fn yaml_that_is_too_long() {
    let long = format!("description: x\nprompts:\n{}", "  - hi\n".repeat(300_000));
    let document = document("evals.yaml", &long);
    assert_eq!(document.format.as_str(), "promptfoo");
    assert!(document.problems[0].message.contains("split the file"));
    let long = format!(
        "description: prompts\nrows:\n{}",
        "  - hi\n".repeat(300_000)
    );
    assert_eq!(document_format("data.yaml", &long), "not-a-template");
}

fn document_format(path: &str, text: &str) -> &'static str {
    document(path, text).format.as_str()
}

#[test]
fn semantic_kernel() {
    check(
        "skprompt.txt",
        "{{$input}} {{time.Now}} {{plugin.fn $x y='z'}} {{'text'}}12",
        "semantic-kernel",
        &[&["input 1:3 2", "time.Now 1:14 2", "x+plugin.fn 1:27 2"]],
    );
    check(
        "p.yaml",
        "name: x\ntemplate: |\n  {{$a}} b\ntemplate_format: semantic-kernel\n",
        "semantic-kernel",
        &[&["a 3:5 1"]],
    );
    check(
        "p.yaml",
        "template: |\n  {{#each a}}{{b}}{{/each}}\ntemplate_format: handlebars\n",
        "semantic-kernel",
        &[&["for a 2:11 0", "a.b 2:16 0"]],
    );
}

#[test]
fn chat_templates_in_json() {
    let text = r#"{"model_max_length": 1e30, "chat_template": [
        {"name": "default", "template": "{{ bos_token }}{% for m in messages %}{{ '<|im_start|>' + m.role }}{% endfor %}"},
        {"name": "rag", "template": "a\n{{ documents }}"}]}"#;
    check(
        "tokenizer_config.json",
        text,
        "tokenizer-config",
        &[
            &[
                "bos_token 2:45 0",
                "for messages 2:69 0",
                "messages.role 2:100 0 other",
            ],
            &["documents 3:44 0"],
        ],
    );
    let document = document("tokenizer_config.json", text);
    assert!(document.templates.iter().all(Template::is_chat_template));
    assert_eq!(document.templates[1].label(), Some("rag"));
}

#[test]
fn requests_are_in_the_order_of_the_model() {
    let text = r#"{"model": "claude", "messages": [
  {"role": "user", "content": [{"type": "text", "text": "old", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]},
  {"role": "assistant", "content": "yes"},
  {"role": "user", "content": "\u200bnew"}],
 "system": [{"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}],
 "tools": [{"name": "t", "input_schema": {}}]}"#;
    let document = document("body.json", text);
    assert_eq!(document.format.as_str(), "anthropic-request");
    let template = &document.templates[0];
    assert_eq!(
        template.source().text(),
        r#"{"name": "t", "input_schema": {}}rulesoldyes"#.to_owned() + "\u{200b}new"
    );
    let parts: Vec<_> = template
        .parts()
        .iter()
        .map(|part| (part.role.as_str(), part.message))
        .collect();
    assert_eq!(
        parts,
        [
            ("system", Some(0)),
            ("system", Some(0)),
            ("user", Some(1)),
            ("assistant", Some(2)),
            ("user", Some(3)),
        ]
    );
    let markers: Vec<_> = template
        .markers()
        .iter()
        .map(|marker| (marker.at, marker.ttl.as_deref(), marker.part))
        .collect();
    assert_eq!(markers, [(38, None, Some(1)), (41, Some("1h"), Some(2))]);
    // What stands behind the last marker is not cached.
    assert_eq!(template.static_bytes_from(0), 41);
    assert_eq!(template.static_bytes_from(41), 0);
    let zero_width = template.source().text().find('\u{200b}').unwrap();
    assert_eq!(template.source().position(zero_width).to_string(), "4:32");
    let last: Vec<bool> = template
        .pieces()
        .iter()
        .filter(|piece| piece.kind == PieceKind::Text)
        .map(|piece| piece.in_last_turn)
        .collect();
    assert_eq!(last, [false, false, false, false, true]);
    assert_eq!(template.tools().count(), 1);
}

#[test]
fn interfaces() {
    let check = |text: &str, expected: &str| {
        let document = document("body.json", text);
        assert_eq!(document.format.as_str(), expected, "{text}");
    };
    let message = r#""messages": [{"role": "user", "content": "hi"}]"#;
    check(
        &format!(r#"{{"model": "gpt", {message}}}"#),
        "openai-request",
    );
    check(
        r#"{"model": "gpt", "input": "hi", "instructions": "x"}"#,
        "openai-request",
    );
    check(
        &format!(r#"{{"system": "x", {message}}}"#),
        "anthropic-request",
    );
    check(
        r#"{"messages": [{"role": "user", "content": [{"text": "a"}, {"cachePoint": {"type": "default"}}]}], "inferenceConfig": {}}"#,
        "bedrock-request",
    );
    check(r#"{"messages": [1, 2], "model": "x"}"#, "not-a-template");
    check(r#"{"input": 1}"#, "not-a-template");
    check("[1, 2", "not-a-template");
}

#[test]
fn open_names_are_decided_by_marks() {
    let check = |name: &str, text: &str, expected: &str, notes: usize| {
        let document = document(name, text);
        assert_eq!(document.format.as_str(), expected, "{text}");
        assert_eq!(document.notes.len(), notes, "{text}: {:?}", document.notes);
    };
    check("a.md", "{% if x %}{% endif %}", "jinja", 0);
    check("a.md", "{{#if x}}{{/if}}", "handlebars", 0);
    check("a.md", "{{ .X }}", "go-template", 0);
    check("a.txt", "{{$x}}", "semantic-kernel", 0);
    check("a.txt", "Hello {name}!", "str-format", 0);
    check("a.txt", "Hello", "plain", 0);
    check("a.txt", "Hello {{ name }}", "jinja", 1);
    check("a.txt", "Hello {{user-name x}}", "handlebars", 1);
    check("a.txt", "Hello {{#if}} {{ .X }}", "unknown", 1);
    check("a.tpl", "Hello {{ name }}", "go-template", 0);
    check("a.tpl", "{% if x %}{% endif %}", "jinja", 0);
    check("a.liquid", "{{ x }}", "unsupported", 0);
    check("a.rs", "{{ x }}", "not-a-template", 0);
}
