//! One conversation in every endpoint's form, letter by letter.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use harbour::{LONG, conversation, long, options, sign};
use headwater::body::{Api, Keep};

#[path = "support/harbour.rs"]
mod harbour;

#[track_caller]
fn check(api: Api, model: &str, keep: Keep, expected: &[&str]) {
    let signed = sign(&conversation(), model);
    let body = signed.body(api, &options(keep)).unwrap();
    let text = body.as_str().replace(&long(), LONG);
    let text = text.replace(&signed.affinity().to_string(), "KEY");
    assert_eq!(text, expected.concat());
    let sound: serde_json::Value = serde_json::from_str(body.as_str()).unwrap();
    assert!(sound.is_object());
}

#[test]
fn openai_chat_before_markers() {
    check(
        Api::OpenAiChat,
        "gpt-5.1",
        Keep::Long,
        &[
            r#"{"model":"gpt-5.1","#,
            r#""tools":[{"function": {"description": "Times", "name": "tides", "parameters": {"properties": {"port": {"type": "string"}}, "type": "object"}}, "type": "function"}],"#,
            r#""messages":[{"role":"system","content":"…\nTenant \"Quay\".\n"},"#,
            r#"{"role":"user","content":[{"type":"text","text":"<now>\n09:30\n</now>\nWhen?"},{"image_url":{"url":"data:image/png;base64,iVBO"},"type":"image_url"}]},"#,
            r#"{"role":"assistant","content":"Let me see.","#,
            r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"tides","arguments":"{\"port\":\"North\", \"day\":2.50}"}}]},"#,
            r#"{"role":"tool","content":"noon","tool_call_id":"c1"}],"#,
            r#""prompt_cache_key":"KEY","#,
            r#""prompt_cache_retention":"24h","#,
            r#""max_tokens":64}"#,
        ],
    );
}

#[test]
fn openai_chat_with_markers() {
    check(
        Api::OpenAiChat,
        "gpt-5.6",
        Keep::Short,
        &[
            r#"{"model":"gpt-5.6","#,
            r#""tools":[{"function": {"description": "Times", "name": "tides", "parameters": {"properties": {"port": {"type": "string"}}, "type": "object"}}, "type": "function"}],"#,
            r#""messages":[{"role":"system","content":[{"type":"text","text":"…\n","prompt_cache_breakpoint":{"mode":"explicit"}},"#,
            r#"{"type":"text","text":"Tenant \"Quay\".\n","prompt_cache_breakpoint":{"mode":"explicit"}}]},"#,
            r#"{"role":"user","content":[{"type":"text","text":"<now>\n09:30\n</now>\nWhen?"},{"image_url":{"url":"data:image/png;base64,iVBO"},"type":"image_url","prompt_cache_breakpoint":{"mode":"explicit"}}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"Let me see."}],"#,
            r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"tides","arguments":"{\"port\":\"North\", \"day\":2.50}"}}]},"#,
            r#"{"role":"tool","content":[{"type":"text","text":"noon"}],"tool_call_id":"c1"}],"#,
            r#""prompt_cache_key":"KEY","#,
            r#""max_tokens":64}"#,
        ],
    );
}

#[test]
fn openai_responses() {
    check(
        Api::OpenAiResponses,
        "gpt-5.6",
        Keep::Short,
        &[
            r#"{"model":"gpt-5.6","#,
            r#""tools":[{"type":"function","name":"tides","description":"Times","parameters":{"properties": {"port": {"type": "string"}}, "type": "object"},"strict":false}],"#,
            r#""input":[{"role":"system","content":[{"type":"input_text","text":"…\n","prompt_cache_breakpoint":{"mode":"explicit"}},{"type":"input_text","text":"Tenant \"Quay\".\n","prompt_cache_breakpoint":{"mode":"explicit"}}]},"#,
            r#"{"role":"user","content":[{"type":"input_text","text":"<now>\n09:30\n</now>\nWhen?"},"#,
            r#"{"type":"input_image","image_url":"data:image/png;base64,iVBO","prompt_cache_breakpoint":{"mode":"explicit"}}]},"#,
            r#"{"role":"assistant","content":[{"type":"output_text","text":"Let me see."}]},"#,
            r#"{"type":"function_call","call_id":"c1","name":"tides","arguments":"{\"port\":\"North\", \"day\":2.50}"},{"type":"function_call_output","call_id":"c1","output":"noon"}],"#,
            r#""prompt_cache_key":"KEY","#,
            r#""max_tokens":64}"#,
        ],
    );
}

#[test]
fn azure() {
    check(
        Api::AzureChat,
        "gpt-5.1",
        Keep::Short,
        &[
            r#"{"model":"gpt-5.1","#,
            r#""tools":[{"function": {"description": "Times", "name": "tides", "parameters": {"properties": {"port": {"type": "string"}}, "type": "object"}}, "type": "function"}],"#,
            r#""messages":[{"role":"system","content":"…\nTenant \"Quay\".\n"},"#,
            r#"{"role":"user","content":[{"type":"text","text":"<now>\n09:30\n</now>\nWhen?"},{"image_url":{"url":"data:image/png;base64,iVBO"},"type":"image_url"}]},"#,
            r#"{"role":"assistant","content":"Let me see.","#,
            r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"tides","arguments":"{\"port\":\"North\", \"day\":2.50}"}}]},"#,
            r#"{"role":"tool","content":"noon","tool_call_id":"c1"}],"#,
            r#""prompt_cache_key":"KEY","#,
            r#""max_tokens":64}"#,
        ],
    );
}

#[test]
fn anthropic() {
    check(
        Api::AnthropicMessages,
        "claude-sonnet-4-5",
        Keep::LongStable,
        &[
            r#"{"model":"claude-sonnet-4-5","#,
            r#""tools":[{"name":"tides","description":"Times","input_schema":{"properties": {"port": {"type": "string"}}, "type": "object"}}],"#,
            r#""system":[{"type":"text","text":"…\n","cache_control":{"type":"ephemeral","ttl":"1h"}},"#,
            r#"{"type":"text","text":"Tenant \"Quay\".\n","cache_control":{"type":"ephemeral","ttl":"1h"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"<now>\n09:30\n</now>\nWhen?"},"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"Let me see."},"#,
            r#"{"type":"tool_use","id":"c1","name":"tides","input":{"port":"North", "day":2.50}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"noon","cache_control":{"type":"ephemeral"}}]}],"#,
            r#""max_tokens":64}"#,
        ],
    );
}

#[test]
fn anthropic_on_vertex() {
    check(
        Api::AnthropicVertex,
        "claude-sonnet-4-5",
        Keep::LongStable,
        &[
            r#"{"anthropic_version":"vertex-2023-10-16","#,
            r#""tools":[{"name":"tides","description":"Times","input_schema":{"properties": {"port": {"type": "string"}}, "type": "object"}}],"#,
            r#""system":[{"type":"text","text":"…\n","cache_control":{"type":"ephemeral","ttl":"1h"}},"#,
            r#"{"type":"text","text":"Tenant \"Quay\".\n","cache_control":{"type":"ephemeral","ttl":"1h"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"<now>\n09:30\n</now>\nWhen?"},"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"Let me see."},"#,
            r#"{"type":"tool_use","id":"c1","name":"tides","input":{"port":"North", "day":2.50}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"noon","cache_control":{"type":"ephemeral"}}]}],"#,
            r#""max_tokens":64}"#,
        ],
    );
}

#[test]
fn bedrock() {
    check(
        Api::BedrockConverse,
        "claude-fable-5",
        Keep::LongStable,
        &[
            r#"{"toolConfig":{"tools":[{"toolSpec":{"name":"tides","description":"Times","inputSchema":{"json":{"properties": {"port": {"type": "string"}}, "type": "object"}}}}]},"#,
            r#""system":[{"text":"…\n"},"#,
            r#"{"cachePoint":{"type":"default","ttl":"1h"}},"#,
            r#"{"text":"Tenant \"Quay\".\n"},"#,
            r#"{"cachePoint":{"type":"default","ttl":"1h"}}],"#,
            r#""messages":[{"role":"user","content":[{"text":"<now>\n09:30\n</now>\nWhen?"},"#,
            r#"{"image":{"format":"png","source":{"bytes":"iVBO"}}}]},"#,
            r#"{"role":"assistant","content":[{"text":"Let me see."},"#,
            r#"{"toolUse":{"toolUseId":"c1","name":"tides","input":{"port":"North", "day":2.50}}}]},"#,
            r#"{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"noon"}]}},"#,
            r#"{"cachePoint":{"type":"default"}}]}],"#,
            r#""max_tokens":64}"#,
        ],
    );
}

#[test]
fn gemini() {
    check(
        Api::GeminiContent,
        "gemini-2.5-pro",
        Keep::Short,
        &[
            r#"{"systemInstruction":{"parts":[{"text":"…\n"},"#,
            r#"{"text":"Tenant \"Quay\".\n"}]},"#,
            r#""tools":[{"functionDeclarations":[{"name":"tides","description":"Times","parametersJsonSchema":{"properties": {"port": {"type": "string"}}, "type": "object"}}]}],"#,
            r#""contents":[{"role":"user","parts":[{"text":"<now>\n09:30\n</now>\nWhen?"},"#,
            r#"{"inlineData":{"mimeType":"image/png","data":"iVBO"}}]},"#,
            r#"{"role":"model","parts":[{"text":"Let me see."},"#,
            r#"{"functionCall":{"name":"tides","args":{"port":"North", "day":2.50}}}]},"#,
            r#"{"role":"user","parts":[{"functionResponse":{"name":"tides","response":{"output":"noon"}}}]}],"#,
            r#""max_tokens":64}"#,
        ],
    );
}

#[test]
fn deepseek() {
    check(
        Api::DeepSeekChat,
        "deepseek-chat",
        Keep::Short,
        &[
            r#"{"model":"deepseek-chat","#,
            r#""tools":[{"function": {"description": "Times", "name": "tides", "parameters": {"properties": {"port": {"type": "string"}}, "type": "object"}}, "type": "function"}],"#,
            r#""messages":[{"role":"system","content":"…\nTenant \"Quay\".\n"},"#,
            r#"{"role":"user","content":[{"type":"text","text":"<now>\n09:30\n</now>\nWhen?"},{"image_url":{"url":"data:image/png;base64,iVBO"},"type":"image_url"}]},"#,
            r#"{"role":"assistant","content":"Let me see.","#,
            r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"tides","arguments":"{\"port\":\"North\", \"day\":2.50}"}}]},"#,
            r#"{"role":"tool","content":"noon","tool_call_id":"c1"}],"#,
            r#""max_tokens":64}"#,
        ],
    );
}

#[test]
fn dashscope() {
    check(
        Api::DashScopeChat,
        "qwen4-max",
        Keep::LongStable,
        &[
            r#"{"model":"qwen4-max","#,
            r#""tools":[{"function": {"description": "Times", "name": "tides", "parameters": {"properties": {"port": {"type": "string"}}, "type": "object"}}, "type": "function"}],"#,
            r#""messages":[{"role":"system","content":[{"type":"text","text":"…\n","cache_control":{"type":"ephemeral","ttl":"1h"}},"#,
            r#"{"type":"text","text":"Tenant \"Quay\".\n","cache_control":{"type":"ephemeral","ttl":"1h"}}]},"#,
            r#"{"role":"user","content":[{"type":"text","text":"<now>\n09:30\n</now>\nWhen?"},{"image_url":{"url":"data:image/png;base64,iVBO"},"type":"image_url"}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"Let me see."}],"#,
            r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"tides","arguments":"{\"port\":\"North\", \"day\":2.50}"}}]},"#,
            r#"{"role":"tool","content":[{"type":"text","text":"noon","cache_control":{"type":"ephemeral"}}],"tool_call_id":"c1"}],"#,
            r#""max_tokens":64}"#,
        ],
    );
}

#[test]
fn vllm() {
    check(
        Api::VllmChat,
        "qwen3-8b",
        Keep::Short,
        &[
            r#"{"model":"qwen3-8b","#,
            r#""tools":[{"function": {"description": "Times", "name": "tides", "parameters": {"properties": {"port": {"type": "string"}}, "type": "object"}}, "type": "function"}],"#,
            r#""messages":[{"role":"system","content":"…\nTenant \"Quay\".\n"},"#,
            r#"{"role":"user","content":[{"type":"text","text":"<now>\n09:30\n</now>\nWhen?"},{"image_url":{"url":"data:image/png;base64,iVBO"},"type":"image_url"}]},"#,
            r#"{"role":"assistant","content":"Let me see.","#,
            r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"tides","arguments":"{\"port\":\"North\", \"day\":2.50}"}}]},"#,
            r#"{"role":"tool","content":"noon","tool_call_id":"c1"}],"#,
            r#""cache_salt":"2b48ad469476f126042de9788fc87d927de65b03a186473787aa1da7436c5232","#,
            r#""max_tokens":64}"#,
        ],
    );
}

#[test]
fn sglang() {
    check(
        Api::SglangChat,
        "",
        Keep::Short,
        &[
            r#"{"tools":[{"function": {"description": "Times", "name": "tides", "parameters": {"properties": {"port": {"type": "string"}}, "type": "object"}}, "type": "function"}],"#,
            r#""messages":[{"role":"system","content":"…\nTenant \"Quay\".\n"},"#,
            r#"{"role":"user","content":[{"type":"text","text":"<now>\n09:30\n</now>\nWhen?"},{"image_url":{"url":"data:image/png;base64,iVBO"},"type":"image_url"}]},"#,
            r#"{"role":"assistant","content":"Let me see.","#,
            r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"tides","arguments":"{\"port\":\"North\", \"day\":2.50}"}}]},"#,
            r#"{"role":"tool","content":"noon","tool_call_id":"c1"}],"#,
            r#""cache_salt":"2b48ad469476f126042de9788fc87d927de65b03a186473787aa1da7436c5232","#,
            r#""max_tokens":64}"#,
        ],
    );
}
