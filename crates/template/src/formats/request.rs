//! Bodies of requests: tools, then the system's text, then messages, whatever their order in the file.

use super::{
    Found,
    assembly::{Assembly, are_messages, content, role},
};
use crate::{
    container::{Data, Value},
    dialect::Dialect,
    format::Format,
    language::{Guess, guess},
    part::{ApiKind, PartKind},
    role::Role,
    source::Source,
};

/// Reads the body of a request to OpenAI, Anthropic or Bedrock.
pub(super) fn read(source: &Source, root: &Value<'_>) -> Option<Found> {
    // A batch holds the body of each request.
    let root = root
        .get("body")
        .filter(|body| is_request(body))
        .unwrap_or(root);
    if !is_request(root) {
        return None;
    }
    let api = api(root);
    let mut found = Found::new(match api {
        ApiKind::OpenAi => Format::OpenAiRequest,
        ApiKind::Anthropic => Format::AnthropicRequest,
        ApiKind::Bedrock => Format::BedrockRequest,
    });
    let mut assembly = Assembly::new(source);
    tools(&mut assembly, root);
    for key in ["system", "instructions"] {
        if let Some(value) = root.get(key) {
            content(&mut assembly, value, Role::System, Some(0));
        }
    }
    messages(&mut assembly, root);
    if let Some(mark) = root.get("cache_control") {
        assembly.automatic_marker(mark);
    }
    // A prompt in YAML is a template; a body in JSON is what was sent.
    let is_template = root.get("testData").is_some() || root.get("modelParameters").is_some();
    let dialect = match guess(assembly.decoded()) {
        Guess::Likely(Dialect::Jinja) if is_template => Dialect::Jinja,
        _ => Dialect::Plain,
    };
    found.drafts.push(assembly.finish(dialect, Some(api)));
    Some(found)
}

fn is_request(root: &Value<'_>) -> bool {
    let says = |key: &str| {
        root.get(key)
            .is_some_and(|value| !matches!(value.data, Data::Other))
    };
    let has_messages = root.get("messages").is_some_and(are_messages);
    let beside = [
        "model",
        "modelId",
        "system",
        "tools",
        "max_tokens",
        "toolConfig",
        "stream",
        "modelParameters",
        "inferenceConfig",
        "anthropic_version",
        "temperature",
    ];
    let is_beside = beside.iter().any(|key| root.get(key).is_some());
    has_messages && (is_beside || root.pairs().len() == 1) || says("input") && says("model")
}

fn api(root: &Value<'_>) -> ApiKind {
    let has = |key: &str| root.get(key).is_some();
    let model = root.get_str("model").unwrap_or_default();
    let blocks = blocks(root);
    let points = blocks.iter().any(|block| block.get("cachePoint").is_some());
    if has("toolConfig") || has("inferenceConfig") || has("modelId") || points {
        return ApiKind::Bedrock;
    }
    let tools = root.get("tools").map(Value::items).unwrap_or_default();
    let is_marked = |value: &Value<'_>| value.get("cache_control").is_some();
    let is_anthropic = has("system")
        || has("anthropic_version")
        || has("cache_control")
        || model.contains("claude")
        || blocks.iter().any(|block| is_marked(block))
        || tools
            .iter()
            .any(|tool| tool.get("input_schema").is_some() || is_marked(tool));
    if is_anthropic {
        ApiKind::Anthropic
    } else {
        ApiKind::OpenAi
    }
}

/// Blocks of the system's text and of messages.
fn blocks<'v, 't>(root: &'v Value<'t>) -> Vec<&'v Value<'t>> {
    let messages = root.get("messages").map(Value::items).unwrap_or_default();
    let contents = messages.iter().filter_map(|message| message.get("content"));
    let all = root.get("system").into_iter().chain(contents);
    all.flat_map(Value::items).collect()
}

fn tools(assembly: &mut Assembly<'_>, root: &Value<'_>) {
    let bedrock = root
        .get("toolConfig")
        .and_then(|config| config.get("tools"));
    let tools = root.get("tools").or(bedrock).map(Value::items);
    for (index, tool) in tools.unwrap_or_default().iter().enumerate() {
        if let Some(mark) = tool.get("cachePoint") {
            assembly.item_marker(mark, index, Role::System);
            continue;
        }
        assembly.raw(tool.span, Role::System, PartKind::Tool, Some(0));
        if let Some(mark) = tool.get("cache_control") {
            assembly.marker(mark);
        }
    }
}

fn messages(assembly: &mut Assembly<'_>, root: &Value<'_>) {
    let Some(list) = root.get("messages").or(root.get("input")) else {
        return;
    };
    if let Some(text) = list.text() {
        return assembly.text(text, Role::User, Some(1));
    }
    for (index, message) in list.items().iter().enumerate() {
        let (role, index) = (role(message), Some(index + 1));
        // Items of the responses interface: calls and their output.
        let inner = message.get("content").or(message.get("output"));
        if let Some(value) = inner {
            content(assembly, value, role, index);
        }
        for call in message
            .get("tool_calls")
            .map(Value::items)
            .unwrap_or_default()
        {
            assembly.raw(call.span, role, PartKind::ToolUse, index);
        }
        if let Some(mark) = message.get("cache_control") {
            assembly.marker(mark);
        }
    }
}
