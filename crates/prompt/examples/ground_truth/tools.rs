//! Cases about tools: their order, the order of keys in them, and whether there are any.

use headwater::json::{Style, canonical};
use headwater::{Chat, Turn};
use serde_json::json;

use crate::Result;
use crate::document::{Keys, object};
use crate::pair::{ChatSide, How, Sdk, Side};

/// A tool that the model may call.
#[derive(Clone)]
pub(crate) struct Tool {
    name: &'static str,
    /// A JSON schema.
    parameters: String,
    /// Of everything around the parameters.
    outer: Keys,
}

/// Four tools, sorted by name.
pub(crate) fn four(parameters: Keys, outer: Keys) -> Vec<Tool> {
    let tool = |name, fields: &[(&str, &str)]| Tool {
        name,
        parameters: schema(fields, parameters),
        outer,
    };
    vec![
        tool("berths", &[("quay", "string"), ("limit", "integer")]),
        tool("fees", &[("berth", "string"), ("metres", "number")]),
        tool("ferries", &[("port", "string"), ("late", "boolean")]),
        tool("tides", &[("port", "string"), ("day", "string")]),
    ]
}

fn schema(fields: &[(&str, &str)], keys: Keys) -> String {
    let properties: Vec<(&str, String)> = fields
        .iter()
        .map(|(name, kind)| {
            let members = [
                ("type", format!("\"{kind}\"")),
                ("description", format!("\"What {name} to ask about.\"")),
            ];
            (*name, object(&members, keys))
        })
        .collect();
    let required: Vec<String> = fields
        .iter()
        .map(|(name, _)| format!("\"{name}\""))
        .collect();
    let members = [
        ("type", "\"object\"".to_owned()),
        ("properties", object(&properties, keys)),
        ("required", format!("[{}]", required.join(", "))),
    ];
    object(&members, keys)
}

impl Tool {
    fn json(&self, outer: Keys) -> String {
        let description = format!("\"Looks up {} and answers in JSON.\"", self.name);
        let function = [
            ("name", format!("\"{}\"", self.name)),
            ("description", description),
            ("parameters", self.parameters.clone()),
        ];
        let members = [
            ("type", "\"function\"".to_owned()),
            ("function", object(&function, outer)),
        ];
        object(&members, outer)
    }
}

/// A chat with tools.
pub(crate) fn side(
    sdk: &Sdk,
    how: How,
    [system, question]: [&str; 2],
    tools: &[Tool],
) -> Result<Side> {
    match how {
        How::AsWritten => as_written(sdk, system, question, tools),
        How::Sdk => by_the_sdk(sdk, system, question, tools),
    }
}

/// The text that Qwen's template makes of tools, with the tools as the caller has them. Of a
/// request's tools the engine keeps the order, and the order of keys within the parameters only.
fn as_written(sdk: &Sdk, system: &str, question: &str, tools: &[Tool]) -> Result<Side> {
    let sign = |texts: &[String]| sdk.sign_chat(How::AsWritten, &in_qwen(system, texts), question);
    let written: Vec<String> = tools.iter().map(|tool| tool.json(tool.outer)).collect();
    let printed: Vec<String> = tools.iter().map(|tool| tool.json(Keys::Given)).collect();
    let chat = ChatSide {
        messages: json!([
            {"role": "system", "content": system},
            {"role": "user", "content": question},
        ]),
        tools: Some(format!("[{}]", written.join(", "))),
        switches: None,
        rendered: sign(&printed)?,
    };
    Ok(Side {
        chat: Some(chat),
        ..Side::of_text(sign(&written)?)
    })
}

/// The SDK's canonical tools: in its own text, and as the engine prints what the SDK sends.
fn by_the_sdk(sdk: &Sdk, system: &str, question: &str, tools: &[Tool]) -> Result<Side> {
    let chat = tools
        .iter()
        .fold(Chat::new().system(system), |chat, tool| {
            chat.tool(tool.json(tool.outer))
        })
        .turn(Turn::user(question));
    let signed = sdk.sign(&chat.prompt()?)?;

    let mut sorted = tools.to_vec();
    sorted.sort_by_key(|tool| tool.name);
    for tool in &mut sorted {
        tool.parameters = canonical(&tool.parameters, Style::Spaced)?;
    }
    let printed: Vec<String> = sorted.iter().map(|tool| tool.json(Keys::Given)).collect();
    let messages = signed.messages().ok_or("a chat has messages")?;
    let system = messages.first().ok_or("a chat has instructions")?;
    let text = in_qwen(&system.content, &printed);
    let chat = ChatSide {
        messages: signed.messages_json().ok_or("a chat has messages")?,
        tools: signed.tools_json().map(str::to_owned),
        switches: None,
        rendered: sdk.sign_chat(How::AsWritten, &text, question)?,
    };
    Ok(Side {
        chat: Some(chat),
        ..Side::of_text(signed)
    })
}

/// Where Qwen3's template writes tools: behind the instructions, in the same message.
fn in_qwen(system: &str, tools: &[String]) -> String {
    format!(
        "{system}\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n\
         You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n{}\n</tools>\n\n\
         For each function call, return a json object with function name and arguments within \
         <tool_call></tool_call> XML tags:\n<tool_call>\n\
         {{\"name\": <function-name>, \"arguments\": <args-json-object>}}\n</tool_call>",
        tools.join("\n")
    )
}
