//! The classes of cache misses known from public reports, in other languages than Jinja and inside JSON
//! and YAML: the bad form is found at its place in the file, and the form that passes is silent.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::sync::LazyLock;

use headwater_lint::{Checked, Finding, Linter, RuleSet, Severity};

const RULES: &str = "You are a clerk of the town hall. Answer politely, name the paragraph that you rely on, and never promise a date.\n";

static LINTER: LazyLock<Linter> = LazyLock::new(|| Linter::new(RuleSet::builtin().unwrap()));

fn findings(path: &str, text: &str) -> Vec<Finding> {
    match LINTER.check(path, text.as_bytes(), &Default::default()) {
        Checked::Judged(outcome) => outcome.findings,
        other => panic!("{path} {text}: {other:?}"),
    }
}

/// The bad form has the code at the place, `line:column`; the good one has nothing above info.
#[track_caller]
fn check(path: &str, code: &str, place: &str, bad: &str, good: &str) {
    let (bad, good) = (bad.replace("RULES", RULES), good.replace("RULES", RULES));
    let found = findings(path, &bad);
    let places: Vec<String> = found
        .iter()
        .map(|finding| format!("{} {}", finding.code.as_str(), finding.position))
        .collect();
    assert!(
        places.contains(&format!("{code} {place}")),
        "{path} {bad}: {places:?}"
    );
    for finding in findings(path, &good) {
        assert!(
            finding.severity == Severity::Info,
            "{path} {good}: {finding:?}"
        );
    }
}

#[test]
fn handlebars() {
    let check = |code, place, bad, good| check("a.hbs", code, place, bad, good);
    check(
        "HW201",
        "1:8",
        "Now: {{now}}\nRULES{{question}}",
        "RULESNow: {{now}}",
    );
    check("HW203", "1:9", "trace={{requestId}}\nRULES", "RULES");
    check(
        "HW204",
        "1:9",
        "Hello {{user.name}}.\nRULES",
        "RULESHello {{user.name}}.",
    );
    check(
        "HW205",
        "1:8",
        "<env>{{cwd}} {{gitStatus}}</env>\nRULES",
        "RULES<env>{{cwd}}</env>",
    );
    check("HW206", "1:3", "{{documents}}\nRULES", "RULES{{documents}}");
    check(
        "HW201",
        "1:21",
        "{{#if debug}}{{time now}}{{/if}}\nRULES",
        "RULES{{#if debug}}{{time now}}{{/if}}",
    );
}

#[test]
fn go() {
    let check = |code, place, bad, good| check("a.gotmpl", code, place, bad, good);
    check(
        "HW201",
        "1:9",
        "Now: {{ .Now }}\nRULES{{ .Question }}",
        "RULESNow: {{ .Now }}",
    );
    check(
        "HW201",
        "1:9",
        "Now: {{ now }}\nRULES",
        "RULESNow: {{ now }}",
    );
    check("HW203", "1:10", "trace={{ .RequestID }}\nRULES", "RULES");
    check(
        "HW204",
        "1:10",
        "Hello {{ .User.Name }}.\nRULES",
        "RULESHello {{ .User.Name }}.",
    );
    check(
        "HW205",
        "1:9",
        "<env>{{ .Cwd }}</env>\nRULES",
        "RULES<env>{{ .Cwd }}</env>",
    );
    check(
        "HW206",
        "1:4",
        "{{ .Documents }}\nRULES",
        "RULES{{ .Documents }}",
    );
}

#[test]
fn a_map_in_go_keeps_its_order() {
    let text = "{{ range $name, $tool := .Tools }}{{ $name }}: {{ $tool }}\n{{ end }}RULES";
    let found = findings("a.gotmpl", &text.replace("RULES", RULES));
    assert!(
        found
            .iter()
            .all(|finding| finding.severity == Severity::Info),
        "{found:?}"
    );
}

#[test]
fn promptfoo() {
    let file = |text: &str| {
        let block = text.replace("RULES", RULES).replace('\n', "\n      ");
        format!(
            "description: x\nprompts:\n  - label: a\n    raw: |\n      {block}\nproviders: [x]\n"
        )
    };
    let check = |code, place, bad: &str, good: &str| {
        check("promptfooconfig.yaml", code, place, &file(bad), &file(good));
    };
    check(
        "HW201",
        "5:15",
        "Now: {{ now }}\nRULES{{ question }}",
        "RULESNow: {{ now }}",
    );
    check("HW203", "5:16", "trace={{ request_id }}\nRULES", "RULES");
    check(
        "HW206",
        "5:10",
        "{{ documents }}\nRULES",
        "RULES{{ documents }}",
    );
    check(
        "HW201",
        "6:12",
        "RULES=={{ now }} one\nRULES",
        "RULES=={{ now }}",
    );
    check("HW401", "5:10", "pol\u{200b}icy\nRULES", "policy\nRULES");
}

#[test]
fn chats_in_json() {
    let file = |system: &str, user: &str| {
        let text = |text: &str| serde_json::to_string(&text.replace("RULES", RULES)).unwrap();
        format!(
            "[{{\"role\": \"system\", \"content\":\n{}}},\n{{\"role\": \"user\", \"content\":\n{}}}]",
            text(system),
            text(user)
        )
    };
    let check = |code, place, bad: String, good: String| {
        check("chat.json", code, place, &bad, &good);
    };
    check(
        "HW201",
        "2:10",
        file("Now: {{ now }}\nRULES", "{{ question }}"),
        file("RULES", "Now: {{ now }}\n{{ question }}"),
    );
    check(
        "HW203",
        "2:11",
        file("trace={{ request_id }}\nRULES", "{{ question }}"),
        file("RULES", "{{ question }} {{ request_id }}"),
    );
}

#[test]
fn requests() {
    let file = |system: &str| {
        let system = serde_json::to_string(&system.replace("RULES", RULES)).unwrap();
        format!(
            "{{\"model\": \"claude\", \"messages\": [{{\"role\": \"user\", \"content\": \"Hi\"}}],\n\"system\": {system}}}"
        )
    };
    let check = |code, place, bad: &str, good: &str| {
        check("body.json", code, place, &file(bad), &file(good));
    };
    check(
        "HW211",
        "2:12",
        "x-anthropic-billing-header: cc_version=2.1; cch=0f3ab;\nRULES",
        "RULES",
    );
    check("HW401", "2:15", "pol\u{200b}icy\nRULES", "policy\nRULES");
}

#[test]
fn chat_templates_in_a_tokenizer_config() {
    let template = "{{ strftime_now(\"%d %b %Y\") }}\n{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    let text = format!(
        "{{\"chat_template\":\n{}}}",
        serde_json::to_string(template).unwrap()
    );
    let found = findings("tokenizer_config.json", &text);
    let clock = found
        .iter()
        .find(|finding| finding.code.as_str() == "HW701");
    assert_eq!(clock.unwrap().position.to_string(), "2:5", "{found:?}");
}

#[test]
fn langchain_with_a_conversation() {
    let chat = |messages: &[&str]| {
        format!(
            "{{\"_type\": \"chat\", \"messages\": [\n{}]}}",
            messages.join(",\n")
        )
    };
    let history = r#"{"variable_name": "chat_history", "optional": true}"#;
    let human = r#"{"role": "human", "content": "{input}"}"#;
    let system = |text: &str| format!(r#"{{"role": "system", "content": "RULES{text}"}}"#);
    let rules = RULES.trim_end();
    let (clean, clock, documents) = (
        system(""),
        system(" It is {now}."),
        system("\\n\\n{context}"),
    );
    for (code, place, bad) in [("HW807", "2:153", &clock), ("HW807", "2:150", &documents)] {
        check(
            "prompt.json",
            code,
            place,
            &chat(&[bad, history, human]).replace("RULES", rules),
            &chat(&[&clean, history, human]).replace("RULES", rules),
        );
    }
    // The short form of the same.
    let short = r#"{"role": "placeholder", "content": "{chat_history}"}"#;
    check(
        "prompt.json",
        "HW807",
        "2:153",
        &chat(&[&clock, short, human]).replace("RULES", rules),
        &chat(&[&clean, short, human]).replace("RULES", rules),
    );
    // The answers of tools come behind the question, and what is said last stays the newest turn.
    let steps = r#"{"variable_name": "agent_scratchpad"}"#;
    let question = r#"{"role": "human", "content": "It is {now}. {input}"}"#;
    let text = chat(&[&clean, history, question, steps]).replace("RULES", rules);
    assert_eq!(findings("prompt.json", &text), []);
}

#[test]
fn a_chat_inside_of_a_string() {
    let chat = "[{\"role\": \"system\", \"content\": \"Now: {{ now }}. RULES\"},\n     {\"role\": \"user\", \"content\": \"{{ question }}\"}]";
    let good = "[{\"role\": \"system\", \"content\": \"RULES\"},\n     {\"role\": \"user\", \"content\": \"Now: {{ now }}. {{ question }}\"}]";
    let config = |chat: &str| {
        let chat = chat.replace("RULES", RULES.trim_end());
        format!("providers: [x]\nprompts:\n  - |\n    {chat}\n")
    };
    check(
        "promptfooconfig.yaml",
        "HW201",
        "4:45",
        &config(chat),
        &config(good),
    );
}

#[test]
fn a_chat_with_a_loop_inside_of_a_string() {
    let text = "providers: [x]\nprompts:\n  - |\n    [\n      {\"role\": \"system\", \"content\": \"You are a polite librarian.\"},\n      {% for completion in _conversation %}\n      {\"role\": \"user\", \"content\": \"{{ completion.input }}\"},\n      {\"role\": \"assistant\", \"content\": \"{{ completion.output }}\"},\n      {% endfor %}\n      {\"role\": \"user\", \"content\": \"{{ question }}\"}\n    ]\n";
    assert_eq!(findings("promptfooconfig.yaml", text), []);
    let clock = text.replace("librarian.", "librarian. It is {{ now }}.");
    let codes: Vec<_> = findings("promptfooconfig.yaml", &clock)
        .into_iter()
        .map(|finding| format!("{} {}", finding.code.as_str(), finding.position))
        .collect();
    assert_eq!(codes, ["HW807 5:75"]);
}

#[test]
fn examples_in_the_file_are_static() {
    let few_shot = |examples: &str| {
        format!(
            "_type: few_shot\nprefix: Write antonyms.\nexample_prompt:\n  template: \"Word: {{input}}\\nAntonym: {{output}}\\n\"\n{examples}suffix: \"Answer with one word and nothing else.\\n{{input}}\"\n"
        )
    };
    let fixed = few_shot("examples:\n  - {input: happy, output: sad}\n");
    assert_eq!(findings("prompt.yaml", &fixed), []);
    assert_ne!(findings("prompt.yaml", &few_shot("")), []);
}

#[test]
fn what_the_user_says_now_may_be_a_moment() {
    let body = |system: &str, user: &str| {
        format!(
            r#"{{"model": "gpt-4o", "messages": [{{"role": "system", "content": "You are a clerk. {system}"}}, {{"role": "user", "content": "{user}"}}]}}"#
        )
    };
    let moment = "Is it open at 2026-03-01T09:15?";
    assert_eq!(findings("body.json", &body("Be kind.", moment)), []);
    assert_eq!(
        findings("body.json", &body(moment, "Hi"))[0].code.as_str(),
        "HW212"
    );
}

#[test]
fn tools_that_a_mode_chooses() {
    check(
        "a.j2",
        "HW305",
        "1:4",
        "{% if mode == \"plan\" %}{{ read_only_tools | tojson(sort_keys=true) }}{% else %}{{ tools | tojson(sort_keys=true) }}{% endif %}\nRULES",
        "{{ tools | tojson(sort_keys=true) }}\n{% set note = 'ask for functions' if render_mode == 'short' else 'ask for tools' %}RULES{% if mode == \"plan\" %}Only read.{% endif %}",
    );
}

#[test]
fn an_alias_is_judged_once_where_its_text_stands() {
    let text =
        "texts: &clerk |\n  Now: {{ now }}\n  RULES\nprompts: [*clerk, *clerk]\nproviders: [x]\n";
    let found = findings("evals.yaml", &text.replace("RULES", RULES.trim_end()));
    let places: Vec<_> = found
        .iter()
        .map(|finding| format!("{} {}", finding.code.as_str(), finding.position))
        .collect();
    assert_eq!(places, ["HW201 2:11"]);
}
