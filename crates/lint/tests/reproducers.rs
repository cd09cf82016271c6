//! One small template for each class of cache misses known from public reports: the bad form is found
//! by the rule of its class, and the form that passes is silent.

use headwater_lint::{Checked, Linter, RuleSet};

const RULES: &str = "You are a clerk of the town hall. Answer politely, name the paragraph that you rely on, and never promise a date.\n";

/// Class, code of the rule, the bad form, the form that passes. `RULES` stands for static text.
const CASES: &[(&str, &str, &str, &str)] = &[
    (
        "TIME",
        "HW201",
        "Now: {{ now }}\nRULES{{ question }}",
        "RULESNow: {{ now }}",
    ),
    (
        "TIME, day",
        "HW202",
        "Today is {{ today }}.\nRULES",
        "<|im_start|>system\nRULES<|im_end|>\n<|im_start|>user\nToday is {{ today }}. Which office is open?<|im_end|>\n<|im_start|>assistant\n",
    ),
    (
        "TIME, day of a clock",
        "HW202",
        "Today is {{ now.strftime('%Y-%m-%d') }}.\nRULES",
        "RULESToday is {{ now.strftime('%Y-%m-%d') }}.",
    ),
    (
        "TIME, in a chat template",
        "HW701",
        "{{ strftime_now(\"%d %b %Y\") }}\n{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}",
        "{{ date_string }}\n{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}",
    ),
    (
        "TIME, to the second in a chat template",
        "HW201",
        "It is {{ strftime_now(\"%H:%M:%S\") }}.\nRULES{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}",
        "RULES{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}",
    ),
    (
        "TIME, relative",
        "HW803",
        "The order came {{ order.time | timeago }}.\nRULES",
        "RULESThe order came {{ order.placed }}.",
    ),
    ("ID", "HW203", "trace={{ request_id }}\nRULES", "RULES"),
    (
        "ID, nonce",
        "HW203",
        "x-billing: cch={{ nonce }};\nRULES",
        "RULES",
    ),
    (
        "ID, billing header",
        "HW211",
        "x-anthropic-billing-header: cc_version=2.1; cch=0f3ab;\nRULES",
        "RULES",
    ),
    (
        "USER",
        "HW204",
        "Hello {{ user.name }}, policy:\nRULES",
        "RULESCustomer:\n{{ user.name }}",
    ),
    (
        "ENV",
        "HW205",
        "<env>{{ cwd }} {{ git_status }}</env>\nRULES",
        "RULES<env>{{ cwd }} {{ git_status }}</env>",
    ),
    (
        "ORDER",
        "HW206",
        "{{ documents }}\n# Rules\nRULES",
        "# Rules\nRULES{{ documents }}",
    ),
    (
        "ORDER, question",
        "HW101",
        "{{ question }}\nRULES",
        "RULES{{ question }}",
    ),
    (
        "TOOLORD",
        "HW301",
        "{% for n, t in tools.items() %}{{ t }}{% endfor %}\nRULES",
        "{% for n, t in tools|dictsort %}{{ t }}{% endfor %}\nRULES",
    ),
    (
        "TOOLORD, list",
        "HW304",
        "{% for t in tools %}{{ t.name }}\n{% endfor %}\nRULES",
        "{% for t in tools|sort(attribute='name') %}{{ t.name }}\n{% endfor %}\nRULES",
    ),
    (
        "TOOLSET",
        "HW305",
        "{% set all = tools if mode == \"build\" else read_only %}\nRULES{{ all | tojson(sort_keys=True) }}",
        "RULES{{ tools | tojson(sort_keys=True) }}",
    ),
    (
        "KEYORD",
        "HW302",
        "{{ schema | tojson }}\nRULES",
        "{# headwater: {volatility: {schema: static}} #}\n{{ schema | tojson(sort_keys=True) }}\nRULES",
    ),
    (
        "KEYORD, call",
        "HW302",
        "{{ json.dumps(tools) }}\nRULES",
        "{{ json.dumps(tools, sort_keys=True) }}\nRULES",
    ),
    (
        "KEYORD, literals",
        "HW311",
        "Answer like {\"a\": 1, \"b\": 2} or {\"b\": 1, \"a\": 2}.\nRULES",
        "Answer like {\"a\": 1, \"b\": 2} or {\"a\": 2, \"b\": 1}.\nRULES",
    ),
    (
        "SER",
        "HW307",
        "RULES{{ call.arguments | fromjson | tojson(sort_keys=true) }}\n{{ question }}",
        "RULES{{ call.arguments }}\n{{ question }}",
    ),
    (
        "SER, escapes",
        "HW310",
        "RULES{{ notes | escape }}\n{{ question }}",
        "RULES{{ notes }}\n{{ question }}",
    ),
    (
        "TMPL",
        "HW702",
        "{% for m in messages %}{{ m.role }}:\n{% if loop.last %}<think></think>{% endif %}{{ m.content }}\n{% endfor %}",
        "{% for m in messages %}{{ m.role }}:\n<think></think>{{ m.content }}\n{% endfor %}",
    ),
    (
        "TMPL, trim",
        "HW703",
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    ),
    (
        "TMPL, ids of tool calls",
        "HW706",
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m.tool_call_id }} {{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    ),
    (
        "SEAM",
        "HW501",
        "RULESAnswer: {{ x }}",
        "RULESAnswer:\n\n{{ x }}",
    ),
    ("SEAM, start token", "HW502", "<s>RULES", "RULES"),
    (
        "HIST",
        "HW801",
        "RULES{% for m in messages[-20:] %}{{ m.content }}\n{% endfor %}",
        "RULES{% for m in messages %}{{ m.content }}\n{% endfor %}",
    ),
    (
        "HIST, clock",
        "HW802",
        "RULES{% for m in messages %}[{{ now }}] {{ m.content }}\n{% endfor %}",
        "RULES{% for m in messages %}[{{ m.sent_at }}] {{ m.content }}\n{% endfor %}",
    ),
    (
        "HIST, newest first",
        "HW804",
        "RULES{% for m in history[::-1] %}{{ m.content }}\n{% endfor %}",
        "RULES{% for m in history %}{{ m.content }}\n{% endfor %}",
    ),
    (
        "HIST, summary",
        "HW806",
        "{{ conversation_summary }}\nRULES",
        "RULES{{ conversation_summary }}",
    ),
    (
        "CNT",
        "HW207",
        "Turns left: {{ turns_left }}\nRULES",
        "RULESTurns left:\n{{ turns_left }}",
    ),
    (
        "CNT, messages",
        "HW805",
        "So far: {{ messages | length }}\nRULES",
        "RULES{{ question }}",
    ),
    ("MEM", "HW206", "{{ memory }}\nRULES", "RULES{{ memory }}"),
    (
        "FEWSHOT",
        "HW303",
        "{% for e in examples|shuffle %}{{ e }}\n{% endfor %}RULES",
        "{# headwater: {volatility: {examples: static}} #}\n{% for e in examples %}{{ e }}\n{% endfor %}RULES",
    ),
    (
        "FEWSHOT, sampled",
        "HW303",
        "{% for e in random.sample(examples, 3) %}{{ e }}\n{% endfor %}RULES",
        "RULES",
    ),
    (
        "COND",
        "HW105",
        "RULES{% if premium %}Offer the express line to this customer.{% endif %}\nRULES2",
        "RULESRULES2{% if premium %}Offer the express line to this customer.{% endif %}",
    ),
    (
        "COND, known",
        "HW103",
        "{% if user.is_premium %}Offer the express line.{% endif %}\nRULES",
        "RULES{% if user.is_premium %}Offer the express line.{% endif %}",
    ),
    (
        "LOCALE",
        "HW308",
        "It costs {{ price|currency }}.\nRULES",
        "RULESIt costs {{ '%.2f'|format(price) }} EUR.",
    ),
    (
        "LOCALE, date",
        "HW308",
        "Delivered {{ d|date(\"LLLL\") }}.\nRULES",
        "RULESDelivered {{ d|date(\"YYYY-MM-DD\") }}.",
    ),
    (
        "MEDIA",
        "HW214",
        "See data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB.\nRULES",
        "RULES",
    ),
    (
        "MEDIA, ahead",
        "HW208",
        "{{ screenshot }}\nRULES",
        "RULES{{ screenshot }}",
    ),
    ("INVIS, BOM", "HW405", "\u{FEFF}RULES", "RULES"),
    (
        "INVIS, zero width",
        "HW401",
        "Follow the pol\u{200B}icy.\nRULES",
        "Follow the policy.\nRULES",
    ),
    (
        "INVIS, no-break space",
        "HW408",
        "Follow the\u{A0}policy.\nRULES",
        "Follow the policy.\nRULES",
    ),
    (
        "INVIS, CRLF",
        "HW412",
        "You are a clerk.\r\nAnswer politely.\r\n",
        "You are a clerk.\nAnswer politely.\n",
    ),
    (
        "INVIS, NFD",
        "HW407",
        "Recommend a cafe\u{301}.\nRULES",
        "Recommend a caf\u{E9}.\nRULES",
    ),
    (
        "include",
        "HW106",
        "{% include persona %}\nRULES",
        "{% include 'persona.md' %}\nRULES",
    ),
];

/// Requests: code, the bad form, the form that passes.
const REQUESTS: &[(&str, &str, &str, &str)] = &[
    (
        "MARK",
        "HW601",
        r#"{"model": "claude-opus-9", "max_tokens": 9, "system": [{"type": "text", "text": "Be kind. Now: 2026-03-01T09:15:22", "cache_control": {"type": "ephemeral"}}], "messages": [{"role": "user", "content": "Hi"}]}"#,
        r#"{"model": "claude-opus-9", "max_tokens": 9, "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}], "messages": [{"role": "user", "content": "Hi"}]}"#,
    ),
    (
        "KEY",
        "HW610",
        r#"{"model": "gpt-4o", "prompt_cache_key": "3f2b8c1e-9d4a-4c6b-8e2f-1a2b3c4d5e6f", "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]}"#,
        r#"{"model": "gpt-4o", "prompt_cache_key": "clerk", "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]}"#,
    ),
];

fn found(linter: &Linter, path: &str, text: &str) -> Vec<String> {
    let text = text
        .replace(
            "RULES2",
            "Quote the law word by word, and say so if there is none.\n",
        )
        .replace("RULES", RULES);
    match linter.check(path, text.as_bytes(), &Default::default()) {
        Checked::Judged(outcome) => outcome
            .findings
            .iter()
            .map(|finding| finding.code.as_str().to_owned())
            .collect(),
        other => vec![format!("{other:?}")],
    }
}

#[test]
fn bad_forms_are_found_and_good_ones_are_silent() {
    let linter = Linter::new(RuleSet::builtin().unwrap());
    let mut wrong = Vec::new();
    let cases = CASES.iter().map(|case| ("a.j2", case));
    let requests = REQUESTS.iter().map(|case| ("request.json", case));
    for (path, (class, code, bad, passes)) in cases.chain(requests) {
        let codes = found(&linter, path, bad);
        if !codes.iter().any(|each| each == code) {
            wrong.push(format!("{class}: expected {code}, found {codes:?}"));
        }
        // Questions about names that nobody declared are no findings of the class.
        let mut codes = found(&linter, path, passes);
        codes.retain(|each| each != "HW104");
        if !codes.is_empty() {
            wrong.push(format!("{class} passes, but {codes:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Names as they stand in real templates, each ahead of static text: those that change, with the rule.
const NAMES: &[(&str, &str)] = &[
    ("HW201", "currentDateTime CURRENT_TIME now_iso"),
    ("HW202", "today_date todays_date weekday"),
    (
        "HW203",
        "requestId correlationId conversation_id nonce uuid4 sessionToken",
    ),
    (
        "HW204",
        "userEmail tenant_name user_profile last_login locale",
    ),
    ("HW205", "cwd git_branch hostname workspace_path"),
    (
        "HW206",
        "retrieved_docs rag_context chat_memory kb_context context_data context_str",
    ),
    (
        "HW207",
        "turns_left step_count unread_count remaining_budget",
    ),
];

/// Names that sound like such values and are settings of a template.
const HARMLESS: &str = "company_name language tone max_words context_length date_format time_limit user_guide \
    document_type source_language id_prefix session_length_limit memory_limit examples_count count_format \
    host_company port_of_loading counter_arguments seed_phrase budget_rules timestamp_format date_of_law \
    question_types input_format agent_name today_menu workspace_rules docs_url history_policy";

#[test]
fn names_of_values() {
    let linter = Linter::new(RuleSet::builtin().unwrap());
    let of = |name: &str| found(&linter, "a.j2", &format!("Use {{{{ {name} }}}}.\nRULES"));
    for (code, names) in NAMES {
        for name in names.split_whitespace() {
            assert_eq!(of(name), [*code], "{name}");
        }
    }
    for name in HARMLESS.split_whitespace() {
        assert_eq!(of(name), ["HW104"], "{name}");
    }
}
