//! What holds for every body: the signed text and nothing else, prefixes that stay, few markers,
//! and a history that the provider finds again.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use headwater::body::{Api, Body, BodyNote, BodyOptions, Keep, MarkerPlace};
use headwater::json::{Node, Value, parse};
use headwater::provider::{Limits, Rules, limits};
use headwater::{
    BytesTokenizer, Chat, Conversation, Prepared, SignOptions, SignedPrompt, ToolCall, Turn,
};
use proptest::prelude::*;

const MODELS: [(Api, &str); 11] = [
    (Api::OpenAiChat, "gpt-5.6"),
    (Api::OpenAiResponses, "gpt-5.6"),
    (Api::AzureChat, "gpt-5.1"),
    (Api::AnthropicMessages, "claude-sonnet-4-5"),
    (Api::BedrockConverse, "claude-fable-5"),
    (Api::GeminiContent, "gemini-2.5-pro"),
    (Api::DeepSeekChat, "deepseek-chat"),
    (Api::DashScopeChat, "qwen4-max"),
    (Api::VllmChat, "qwen3-8b"),
    (Api::SglangChat, "qwen3-8b"),
    (Api::AnthropicVertex, "claude-sonnet-4-5"),
];

fn rules(api: Api, model: &str) -> Rules {
    let rules = api.provider().map(|it| limits().unwrap().rules(it, model));
    rules.unwrap_or_default()
}

/// What comes between two requests: what the model says, how many tools it calls, and whether
/// the user says something.
#[derive(Clone, Debug)]
struct Step {
    said: String,
    calls: usize,
    asked: Option<String>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = "[a-zé\"\\\\<]{1,12}( [a-z]{1,8})?";
    let step =
        (text, 0..30usize, proptest::option::of(text)).prop_map(|(said, calls, asked)| Step {
            said,
            calls,
            // Somebody has to speak.
            asked: asked.or((calls == 0).then(|| "Go on.".to_owned())),
        });
    proptest::collection::vec(step, 0..6)
}

/// Which stable parts there are.
fn head(model: &str, parts: u8) -> Conversation {
    let mut chat = Chat::new();
    if parts & 1 != 0 {
        chat = chat.tool(r#"{"name": "tides", "description": "Times \"of\" tides"}"#);
    }
    if parts & 2 != 0 {
        chat = chat.system("You answer questions about the harbour. ".repeat(150));
    }
    if parts & 4 != 0 {
        chat = chat.semi_static("The tenant's rules come next. ".repeat(150));
    }
    chat = if parts & 8 != 0 {
        chat.example("How high?", "Two metres.")
    } else {
        chat.turn(Turn::user("Begin."))
    };
    let options = SignOptions {
        model: model.into(),
        ..SignOptions::default()
    };
    Prepared::new(chat, BytesTokenizer, options)
        .unwrap()
        .conversation()
}

fn push(talk: &mut Conversation, place: usize, step: &Step) {
    let call = |index| ToolCall {
        id: format!("c{place}-{index}"),
        name: "tides".into(),
        arguments: format!("{{\"at\": {index}, \"a\":1.0}}"),
        ..ToolCall::default()
    };
    let said = (0..step.calls).fold(Turn::assistant(&*step.said), |turn, index| {
        turn.call(call(index))
    });
    talk.push(said).unwrap();
    for index in 0..step.calls {
        talk.push(Turn::tool(
            format!("c{place}-{index}"),
            format!("result {index}"),
        ))
        .unwrap();
    }
    if let Some(asked) = &step.asked {
        talk.push(Turn::user(&**asked)).unwrap();
    }
}

/// The body of every request of the conversation, with what was signed.
fn bodies(
    api: Api,
    model: &str,
    parts: u8,
    steps: &[Step],
    keep: Keep,
) -> Vec<(SignedPrompt, Body)> {
    let mut talk = head(model, parts);
    talk.push(Turn::user("When?")).unwrap();
    let options = BodyOptions {
        keep,
        parameters: vec![("max_tokens".into(), 64.into())],
        ..BodyOptions::default()
    };
    let mut bodies = Vec::new();
    for (place, step) in [None].into_iter().chain(steps.iter().map(Some)).enumerate() {
        if let Some(step) = step {
            push(&mut talk, place, step);
        }
        let signed = talk.sign().unwrap();
        let body = signed.body(api, &options).unwrap();
        bodies.push((signed, body));
    }
    bodies
}

/// Keys of the places where a body has text of messages.
const TEXT: [&str; 3] = ["text", "content", "output"];

/// All text of messages, and all arguments of calls, in the order of the body.
fn read(text: &str, node: &Node<'_>, said: &mut String, calls: &mut Vec<String>) {
    match &node.value {
        Value::Array(elements) => elements.iter().for_each(|it| read(text, it, said, calls)),
        Value::Object(members) => {
            for member in members {
                match (&*member.key, member.node.as_str()) {
                    ("tools" | "toolConfig", _) => {}
                    (key, Some(value)) if TEXT.contains(&key) => said.push_str(value),
                    ("arguments", Some(value)) => calls.push(value.to_owned()),
                    ("input" | "args", None) if member.node.as_array().is_none() => {
                        let span = member.node.span;
                        calls.push(text[span.start..span.end].to_owned());
                    }
                    _ => read(text, &member.node, said, calls),
                }
            }
        }
        _ => {}
    }
}

/// The content blocks of Anthropic's and DashScope's bodies, without tools: whether each has a
/// marker, and its lifetime.
fn marks(node: &Node<'_>, marks: &mut Vec<Option<String>>) {
    match &node.value {
        Value::Array(elements) => elements.iter().for_each(|it| self::marks(it, marks)),
        Value::Object(members) => {
            let tool = node.member("function").is_some();
            if node.member("type").is_some() && !tool {
                let marker = node.member("cache_control");
                let ttl = |it: &Node<'_>| {
                    it.member("ttl")
                        .and_then(Node::as_str)
                        .unwrap_or("5m")
                        .to_owned()
                };
                marks.push(marker.map(ttl));
            } else if tool {
                marks.push(None);
            }
            let inside = ["system", "messages", "content", "tool_calls"];
            for member in members
                .iter()
                .filter(|member| inside.contains(&&*member.key))
            {
                self::marks(&member.node, marks);
            }
        }
        _ => {}
    }
}

fn block_marks(body: &Body) -> Vec<Option<String>> {
    let mut found = Vec::new();
    marks(&parse(body.as_str()).unwrap(), &mut found);
    found
}

/// The body without its markers.
fn bare(body: &str) -> String {
    let mut text = body.to_owned();
    let ttls = ["", r#","ttl":"1h""#];
    for ttl in ttls {
        let cut = |text: &str, marker: String| text.replace(&marker, "");
        text = cut(
            &text,
            format!(r#","cache_control":{{"type":"ephemeral"{ttl}}}"#),
        );
        text = cut(
            &text,
            format!(r#",{{"cachePoint":{{"type":"default"{ttl}}}}}"#),
        );
    }
    text.replace(r#","prompt_cache_breakpoint":{"mode":"explicit"}"#, "")
}

/// Where the last block of a bare body ends: before the brackets that close the list.
fn last_block(bare: &str) -> usize {
    let steering = ["\"prompt_cache_key\"", "\"max_tokens\"", "\"cache_salt\""];
    let end = steering
        .iter()
        .filter_map(|key| bare.rfind(key))
        .min()
        .unwrap();
    bare[..end].trim_end_matches([',', ']', '}']).len()
}

fn keeps() -> impl Strategy<Value = Keep> {
    prop_oneof![Just(Keep::Short), Just(Keep::LongStable), Just(Keep::Long)]
}

fn agent_run(calls: usize, parts: u8, limits: Option<Limits>) -> Body {
    let step = Step {
        said: "Let me see.".into(),
        calls,
        asked: None,
    };
    let mut talk = head("claude-sonnet-4-5", parts);
    talk.push(Turn::user("When?")).unwrap();
    push(&mut talk, 0, &step);
    let options = BodyOptions {
        parameters: vec![("max_tokens".into(), 64.into())],
        limits,
        ..BodyOptions::default()
    };
    let signed = talk.sign().unwrap();
    signed.body(Api::AnthropicMessages, &options).unwrap()
}

#[test]
fn a_long_agent_run_is_bridged_or_said_to_be_lost() {
    use MarkerPlace::{History, Newest, PreviousRequest, SemiStaticEnd, StaticEnd};
    let places = |calls| agent_run(calls, 6, None).markers().to_vec();
    // Two blocks of users before, then 1 + 2 × calls.
    assert_eq!(places(8), [StaticEnd, SemiStaticEnd, Newest]);
    assert_eq!(places(10), [StaticEnd, SemiStaticEnd, History, Newest]);
    assert_eq!(
        places(30),
        [StaticEnd, SemiStaticEnd, PreviousRequest, Newest]
    );
    assert_eq!(
        agent_run(25, 2, None).markers(),
        [StaticEnd, History, History, Newest]
    );

    let facts = [
        "marker_key: cache_control",
        "max_markers: 3",
        "lookback_blocks: 20",
    ];
    let rows = facts.map(|fact| {
        format!("  - {{provider: anthropic, {fact}, date: 2027-01-01, source: a newer page}}\n")
    });
    let limits = Limits::parse(&format!("rows:\n{}", rows.concat())).unwrap();
    let body = agent_run(30, 6, Some(limits));
    assert_eq!(body.markers(), [StaticEnd, SemiStaticEnd, Newest]);
    let lost = BodyNote::OutOfReach {
        blocks: 61,
        lookback: 20,
    };
    assert_eq!(body.notes(), [BodyNote::UnknownMinimum, lost]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_body_says_what_was_signed_and_nothing_else(steps in steps(), parts in 0..8u8) {
        for (api, model) in MODELS {
            for (signed, body) in bodies(api, model, parts, &steps, Keep::Short) {
                let messages = signed.messages().unwrap();
                let signed: String = messages.iter().map(|message| &*message.content).collect();
                let signed_calls = messages.iter().flat_map(|message| &message.calls);
                let (mut said, mut calls) = (String::new(), Vec::new());
                read(body.as_str(), &parse(body.as_str()).unwrap(), &mut said, &mut calls);
                prop_assert_eq!(said, signed, "{}", api);
                let signed_calls: Vec<_> = signed_calls.map(|call| call.arguments.clone()).collect();
                prop_assert_eq!(calls, signed_calls, "{}", api);
            }
        }
    }

    #[test]
    fn a_turn_changes_nothing_before_it_but_markers(steps in steps(), parts in 0..16u8) {
        for (api, model) in MODELS {
            let bodies = bodies(api, model, parts, &steps, Keep::LongStable);
            for pair in bodies.windows(2) {
                let (before, after) = (bare(pair[0].1.as_str()), bare(pair[1].1.as_str()));
                let end = last_block(&before);
                prop_assert_eq!(&before[..end], &after[..end], "{}", api);
            }
        }
    }

    #[test]
    fn markers_are_few_and_lifetimes_never_rise(steps in steps(), parts in 0..16u8, keep in keeps()) {
        for (api, model) in MODELS {
            let allowed = rules(api, model).max_markers.unwrap_or(0) as usize;
            for (_, body) in bodies(api, model, parts, &steps, keep) {
                let text = body.as_str();
                let keys = ["\"cache_control\"", "\"cachePoint\"", "\"prompt_cache_breakpoint\""];
                let written: usize = keys.iter().map(|key| text.matches(key).count()).sum();
                prop_assert_eq!(written, body.markers().len());
                prop_assert!(written <= allowed, "{}: {}", api, written);
                let long: Vec<_> = text.match_indices("\"ttl\":\"1h\"").map(|(at, _)| at).collect();
                let short = text.find("{\"type\":\"ephemeral\"}").or(text.find("{\"type\":\"default\"}"));
                if let (Some(last_long), Some(short)) = (long.last(), short) {
                    prop_assert!(*last_long < short, "{}", api);
                }
            }
        }
    }

    #[test]
    fn the_next_request_finds_where_the_last_one_ended(steps in steps(), parts in 2..16u8) {
        for (api, model) in [MODELS[3], MODELS[7]] {
            let lookback = rules(api, model).lookback_blocks.unwrap() as usize;
            let bodies = bodies(api, model, parts, &steps, Keep::Short);
            for pair in bodies.windows(2) {
                let (before, after) = (block_marks(&pair[0].1), block_marks(&pair[1].1));
                // Too short to be cached.
                let Some(stored) = before.iter().rposition(Option::is_some) else { continue };
                let found = after.iter().enumerate().any(|(place, mark)| {
                    mark.is_some() && (stored..=stored + lookback).contains(&place)
                });
                prop_assert!(found, "{}: {:?} {:?}", api, before, after);
            }
        }
    }

    #[test]
    fn no_stretch_of_history_is_longer_than_the_lookback(steps in steps(), parts in 2..8u8) {
        let (api, model) = MODELS[3];
        let rules = rules(api, model);
        let (lookback, most) = (rules.lookback_blocks.unwrap() as usize, rules.max_markers.unwrap() as usize);
        let stable = (parts >> 1 & 1) + (parts >> 2 & 1);
        for (_, body) in bodies(api, model, parts, &steps, Keep::Short) {
            let history = block_marks(&body).split_off(usize::from(stable));
            let room = most - usize::from(stable);
            let mut stretches: Vec<usize> = Vec::new();
            let mut length = 0;
            for mark in &history {
                length += 1;
                if mark.is_some() {
                    stretches.push(std::mem::take(&mut length));
                }
            }
            prop_assert_eq!(length, 0, "the newest block has a marker");
            if history.len() <= room * lookback {
                prop_assert!(stretches.iter().all(|it| *it <= lookback), "{:?}", stretches);
            }
        }
    }
}
