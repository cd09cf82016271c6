//! Two turns with a chat server, OpenAI's form of it, through a router or straight:
//! `cargo run --example chat -- http://127.0.0.1:8080 my-model`.

use std::error::Error;

use headwater::{BytesTokenizer, Chat, Prepared, SignOptions, SignedPrompt, Turn};
use serde_json::{Value, json};

const INSTRUCTIONS: &str = "You answer questions about the harbour, briefly and politely.";
const TIDES: &str = r#"{"type": "function", "function": {"name": "tides",
    "description": "Times of high and low tide", "parameters": {"type": "object", "properties": {}}}}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments
        .next()
        .unwrap_or("http://127.0.0.1:8080".to_owned());
    let model = arguments.next().unwrap_or("model".to_owned());

    // Once, at the start of the program. Share it; a clone is cheap.
    let chat = Chat::new().tool(TIDES).system(INSTRUCTIONS);
    let options = SignOptions {
        model: model.clone(),
        ..SignOptions::default()
    };
    let head = Prepared::new(chat, BytesTokenizer, options)?;

    // Once for every conversation.
    let mut talk = head.conversation().session("visitor 7");
    let client = reqwest::blocking::Client::new();
    for (clock, question) in [("09:30", "When is high tide?"), ("09:31", "Is that late?")] {
        let signed = talk.ask(Turn::user(question).fact("now", clock))?;
        let mut request = client
            .post(format!("{server}/v1/chat/completions"))
            .header("content-type", "application/json")
            .body(body(&model, &signed)?);
        for (name, value) in signed.headers() {
            println!("> {name}: {value}");
            request = request.header(name, value);
        }
        // What the next turn needs of the text is in the conversation.
        drop(signed);

        let response = request.send()?.error_for_status()?;
        if let Some(route) = response.headers().get("prefix-route") {
            println!("< prefix-route: {}", route.to_str()?);
            // A header that cannot be read costs a warm cache, not the conversation.
            if let Err(error) = talk.observe_route(route) {
                eprintln!("prefix-route ignored: {error}");
            }
        }
        let answer: Value = serde_json::from_str(&response.text()?)?;
        let text = answer.pointer("/choices/0/message/content");
        let text = text.and_then(Value::as_str).unwrap_or_default();
        println!("{text}");
        println!(
            "cached: {:?}",
            answer.pointer("/usage/prompt_tokens_details/cached_tokens")
        );
        talk.push(Turn::assistant(text))?;
    }
    Ok(())
}

/// Tools before messages, as they are rendered; both exactly as they were signed.
fn body(model: &str, signed: &SignedPrompt) -> Result<String, Box<dyn Error>> {
    let messages = signed.messages_json().ok_or("a chat has messages")?;
    let tools = signed.tools_json().unwrap_or("null");
    let model = json!(model);
    Ok(format!(
        r#"{{"model": {model}, "tools": {tools}, "messages": {messages}}}"#
    ))
}
