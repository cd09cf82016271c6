//! A conversation that has a bit of everything, for tests of request bodies.

use headwater::body::{BodyOptions, Keep};
use headwater::{
    BytesTokenizer, Chat, Media, MediaDigest, Salt, SignOptions, SignedPrompt, ToolCall, Turn,
};
use serde_json::json;

/// Stands for a long text in what is expected.
pub(crate) const LONG: &str = "…";

pub(crate) fn long() -> String {
    "Harbour rules apply. ".repeat(1000).trim_end().to_owned()
}

pub(crate) fn tides() -> ToolCall {
    ToolCall {
        id: "c1".into(),
        name: "tides".into(),
        arguments: r#"{"port":"North", "day":2.50}"#.into(),
        ..ToolCall::default()
    }
}

pub(crate) fn picture() -> Media {
    Media::image(MediaDigest::of(b"png"), "data:image/png;base64,iVBO")
}

pub(crate) fn conversation() -> Chat {
    Chat::new()
        .tool(r#"{"type": "function", "function": {"name": "tides", "description": "Times", "parameters": {"type": "object", "properties": {"port": {"type": "string"}}}}}"#)
        .system(long())
        .semi_static("Tenant \"Quay\".")
        .turn(Turn::user("When?").fact("now", "09:30").media(picture()))
        .turn(Turn::assistant("Let me see.").call(tides()))
        .turn(Turn::tool("c1", "noon"))
}

pub(crate) fn sign(chat: &Chat, model: &str) -> SignedPrompt {
    let options = SignOptions {
        model: model.into(),
        salt: Some(Salt::new("0123456789abcdef")),
        session: Some("visitor 7".into()),
        ..SignOptions::default()
    };
    chat.prompt()
        .unwrap()
        .sign(&BytesTokenizer, &options)
        .unwrap()
}

/// Enough for every endpoint.
pub(crate) fn options(keep: Keep) -> BodyOptions {
    BodyOptions {
        keep,
        parameters: vec![("max_tokens".into(), json!(64))],
        ..BodyOptions::default()
    }
}
