//! What goes into a body besides the text, what is said about it, and what cannot be sent.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use harbour::{LONG, conversation, long, options, sign, tides};
use headwater::body::{
    Api, Body, BodyError, BodyNote, BodyOptions, Keep, MarkerPlace, Markers, Omission,
};
use headwater::provider::Limits;
use headwater::{
    BytesTokenizer, Chat, Media, MediaDigest, Prompt, Salt, Segment, SignOptions, ToolCall, Turn,
};
use serde_json::json;

#[path = "support/harbour.rs"]
mod harbour;

fn body(api: Api, model: &str, chat: &Chat) -> Body {
    sign(chat, model).body(api, &options(Keep::Short)).unwrap()
}

#[test]
fn a_salt_is_sent_as_a_hash_that_does_not_depend_on_the_prompt() {
    let salt = |chat: &Chat, secret: &str| {
        let salt = Some(Salt::new(secret));
        let options = SignOptions {
            salt,
            ..SignOptions::default()
        };
        let signed = chat
            .prompt()
            .unwrap()
            .sign(&BytesTokenizer, &options)
            .unwrap();
        let body = signed.body(Api::VllmChat, &BodyOptions::default()).unwrap();
        let body: serde_json::Value = serde_json::from_str(body.as_str()).unwrap();
        body.get("cache_salt")
            .map(|salt| salt.as_str().unwrap().to_owned())
    };
    let other = Chat::new().turn(Turn::user("Hi"));
    let one = salt(&conversation(), "tenant-secret-01");
    assert_eq!(one, salt(&other, "tenant-secret-01"));
    assert_ne!(one, salt(&other, "tenant-secret-02"));
    assert!(!one.unwrap().contains("secret"));
    assert_eq!(salt(&other, ""), None);
}

#[test]
fn lifetimes_are_those_of_the_data() {
    let long = |api, model: &str| {
        let signed = sign(&conversation(), model);
        let text = signed
            .body(api, &options(Keep::Long))
            .unwrap()
            .into_string();
        (
            text.matches(r#""ttl":"1h""#).count(),
            text.contains("prompt_cache_retention"),
        )
    };
    assert_eq!(
        long(Api::AnthropicMessages, "claude-sonnet-4-5"),
        (3, false)
    );
    assert_eq!(long(Api::DashScopeChat, "qwen4-max"), (3, false));
    // One lifetime only: nothing to ask for.
    assert_eq!(long(Api::DashScopeChat, "qwen3-max"), (0, false));
    assert_eq!(long(Api::OpenAiChat, "gpt-5.6"), (0, false));
    assert_eq!(long(Api::AzureChat, "gpt-5.1"), (0, true));
}

#[test]
fn limits_are_data() {
    let yaml = r#"
rows:
  - {provider: anthropic, marker_key: cache_control, date: 2027-01-01, source: "a newer page"}
  - {provider: anthropic, max_markers: 1, date: 2027-01-01, source: "a newer page"}
  - {provider: anthropic, minimum_tokens: 3, date: 2027-01-01, source: "a newer page"}
"#;
    let limits = Some(Limits::parse(yaml).unwrap());
    let options = BodyOptions {
        limits,
        ..options(Keep::Short)
    };
    let signed = sign(&conversation(), "claude-sonnet-4-5");
    let body = signed.body(Api::AnthropicMessages, &options).unwrap();
    assert_eq!(body.markers(), [MarkerPlace::Newest]);
    let none = |place| BodyNote::MarkerOmitted {
        place,
        why: Omission::NoRoom { markers: 1 },
    };
    assert_eq!(
        body.notes(),
        [
            none(MarkerPlace::StaticEnd),
            none(MarkerPlace::SemiStaticEnd)
        ]
    );

    let yaml = yaml.replace("max_markers: 1", "step_tokens: 1");
    let options = BodyOptions {
        limits: Some(Limits::parse(&yaml).unwrap()),
        ..options
    };
    let body = signed.body(Api::AnthropicMessages, &options).unwrap();
    assert!(body.markers().is_empty());
    assert_eq!(body.notes().len(), 3);
    let note = body.notes()[0].to_string();
    assert_eq!(
        note,
        "no marker at the newest turn: no source says how many the provider takes"
    );
}

#[test]
fn markers_that_would_be_useless_are_not_written() {
    let chat = Chat::new()
        .system("Be brief.")
        .semi_static(long())
        .turn(Turn::user("When?"));
    let long = body(Api::AnthropicMessages, "claude-sonnet-4-5", &chat);
    assert_eq!(
        long.markers(),
        [MarkerPlace::SemiStaticEnd, MarkerPlace::Newest]
    );
    let why = Omission::BelowMinimum {
        tokens: 7,
        minimum: 1024,
    };
    let place = MarkerPlace::StaticEnd;
    assert_eq!(long.notes(), [BodyNote::MarkerOmitted { place, why }]);

    let chat = Chat::new().system("Be brief.").turn(Turn::user("When?"));
    let short = body(Api::AnthropicMessages, "claude-haiku-4-5", &chat);
    assert!(short.markers().is_empty() && !short.as_str().contains("cache_control"));
    let notes: Vec<String> = short.notes().iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "the prompt has 23 tokens and is cached from 4096 on (cacheeconomics, providers.json; \
             BerriAI/litellm#33637, 2026-07-28)",
            "no marker at the newest turn: the prefix has 15 tokens and is cached from 4096 on",
            "no marker at the static end: the prefix has 7 tokens and is cached from 4096 on",
        ]
    );
    let unknown = body(Api::GeminiContent, "gemini-9", &chat);
    assert_eq!(unknown.notes(), [BodyNote::UnknownMinimum]);
    assert_eq!(body(Api::VllmChat, "m", &chat).notes(), []);
}

#[test]
fn a_caller_may_leave_markers_to_the_provider() {
    for (api, model) in [
        (Api::DashScopeChat, "qwen3-max"),
        (Api::OpenAiChat, "gpt-5.6"),
    ] {
        let options = BodyOptions {
            markers: Markers::Omitted,
            ..options(Keep::Short)
        };
        let body = sign(&conversation(), model).body(api, &options).unwrap();
        assert!(body.markers().is_empty());
        assert!(
            body.as_str()
                .contains(r#"{"role":"assistant","content":"Let me see.""#)
        );
    }
}

#[test]
fn system_text_behind_examples_moves_and_says_so() {
    let chat = Chat::new()
        .system(long())
        .example("Hi", "Hello.")
        .semi_static("Tenant.")
        .turn(Turn::user("When?"));
    let moved = body(Api::AnthropicMessages, "claude-sonnet-4-5", &chat);
    assert!(matches!(moved.notes(), [BodyNote::Hoisted { segment }] if segment.index == 3));
    // The shared part now ends where the tenant's text begins; the examples are the tenant's.
    let text = moved.as_str().replace(&long(), LONG);
    let marked = r#","cache_control":{"type":"ephemeral"}}"#;
    for end in ["…\\n\"", "Hello.\\n\"", "When?\""] {
        assert!(text.contains(&format!("{end}{marked}")), "{text}");
    }
    let kept = body(Api::DashScopeChat, "qwen3-max", &chat);
    assert!(kept.notes().is_empty());
}

#[test]
fn tools_are_turned_into_every_form() {
    let given = [
        r#"{"type":"function","function":{"name":"a","description":"d","parameters":{"x":1.0}}}"#,
        r#"{"type":"function","name":"a","description":"d","parameters":{"x":1.0}}"#,
        r#"{"name":"a","description":"d","input_schema":{"x":1.0}}"#,
        r#"{"toolSpec":{"name":"a","description":"d","inputSchema":{"json":{"x":1.0}}}}"#,
        r#"{"name":"a","description":"d","parameters":{"x":1.0}}"#,
    ];
    let sent = [
        (
            Api::OpenAiChat,
            r#"[{"type":"function","function":{"name":"a","description":"d","parameters":{"x": 1.0}}}]"#,
        ),
        (
            Api::OpenAiResponses,
            r#"[{"type":"function","name":"a","description":"d","parameters":{"x": 1.0},"strict":false}]"#,
        ),
        (
            Api::AnthropicMessages,
            r#"[{"name":"a","description":"d","input_schema":{"x": 1.0}}]"#,
        ),
        (
            Api::BedrockConverse,
            r#"[{"toolSpec":{"name":"a","description":"d","inputSchema":{"json":{"x": 1.0}}}}]"#,
        ),
        (
            Api::GeminiContent,
            r#"[{"functionDeclarations":[{"name":"a","description":"d","parametersJsonSchema":{"x": 1.0}}]}]"#,
        ),
    ];
    for (form, given) in given.iter().enumerate() {
        for (place, (api, sent)) in sent.iter().enumerate() {
            let chat = Chat::new().tool(*given).turn(Turn::user("Hi"));
            // Known limits would add a marker.
            let text = body(*api, "m", &chat).into_string();
            let text = text.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
            let text = text.replace(r#",{"cachePoint":{"type":"default"}}"#, "");
            // In the endpoint's own form it is sent as it was signed.
            let tools = sign(&chat, "m").tools_json().unwrap().to_owned();
            let inner = tools.trim_matches(['[', ']']);
            let expected = if form == place { inner } else { *sent };
            assert!(text.contains(expected), "{api}: {given}: {text}");
        }
    }
    let hosted = Chat::new()
        .tool(r#"{"type":"web_search"}"#)
        .turn(Turn::user("Hi"));
    for api in Api::ALL {
        let text = body(api, "m", &hosted).into_string();
        assert!(text.contains(r#"{"type": "web_search""#), "{text}");
    }
}

#[test]
fn media_are_turned_into_every_form() {
    let see = |api, media: Media| {
        let chat = Chat::new().turn(Turn::user("").media(media));
        let signed = sign(&chat, "m");
        let body = signed.body(api, &options(Keep::Short));
        body.map(Body::into_string)
            .map_err(|error| error.to_string())
    };
    let digest = MediaDigest::of(b"x");
    let address = || Media::image(digest, "https://example.com/a.png");
    let sound = || Media::audio(digest, "wav", "UklG");
    let has = |api, media, expected: &str| {
        let text = see(api, media).unwrap();
        assert!(text.contains(expected), "{text}");
    };
    has(
        Api::AnthropicMessages,
        address(),
        r#"{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}"#,
    );
    has(
        Api::OpenAiResponses,
        address(),
        r#"{"type":"input_image","image_url":"https://example.com/a.png"}"#,
    );
    has(
        Api::GeminiContent,
        sound(),
        r#"{"inlineData":{"mimeType":"audio/wav","data":"UklG"}}"#,
    );
    has(
        Api::VllmChat,
        sound(),
        r#"{"input_audio":{"data":"UklG","format":"wav"},"type":"input_audio"}"#,
    );
    let own = Media::new(
        headwater::MediaKind::Image,
        digest,
        json!({"fileData": {"fileUri": "gs://b/o"}}),
    );
    has(
        Api::GeminiContent,
        own,
        r#"{"fileData":{"fileUri":"gs://b/o"}}"#,
    );

    let refused = |api, media, expected: &str| {
        let error = see(api, media).unwrap_err();
        assert!(error.starts_with(&format!("no body for {api}: segment 0 (user, dynamic): ")));
        assert!(error.contains(expected), "{error}");
    };
    refused(Api::AnthropicMessages, sound(), "takes no such medium");
    refused(Api::BedrockConverse, address(), "give a `data:` URL");
    refused(Api::GeminiContent, address(), "give a `data:` URL");
    refused(
        Api::GeminiContent,
        Media::image(digest, "data:image/png,x"),
        "data:TYPE;base64,DATA",
    );
    let part = |part| Media::new(headwater::MediaKind::Image, digest, part);
    let detailed = part(
        json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,x", "detail": "low"}}),
    );
    refused(Api::AnthropicMessages, detailed, "no place for `detail`");
    let marked = part(json!({"image": 1, "cache_control": {}}));
    refused(Api::OpenAiChat, marked, "marker `cache_control` of its own");
}

#[test]
fn what_cannot_be_sent_is_named_with_the_next_step() {
    let refused = |api, chat: &Chat, options: &BodyOptions, expected: &str| {
        let error = sign(chat, "m").body(api, options).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let plain = options(Keep::Short);
    let user = Chat::new().turn(Turn::user("Hi"));
    refused(
        Api::AnthropicMessages,
        &user,
        &BodyOptions::default(),
        "no body for anthropic-messages: the endpoint wants the parameter `max_tokens`; add it to `BodyOptions::parameters`",
    );
    for name in ["messages", "max_tokens"] {
        let mut twice = plain.clone();
        twice.parameters.push((name.into(), json!([])));
        refused(
            Api::OpenAiChat,
            &user,
            &twice,
            &format!(
                "no body for openai-chat: the parameter `{name}` is there already; take it out of `BodyOptions::parameters`"
            ),
        );
    }
    refused(
        Api::GeminiContent,
        &Chat::new().system("Be brief."),
        &plain,
        "no body for gemini-content: there is no message besides the instructions; add a user's turn",
    );
    let call = |arguments: &str| {
        let call = ToolCall {
            arguments: arguments.into(),
            ..tides()
        };
        Chat::new()
            .turn(Turn::user("When?"))
            .turn(Turn::assistant("").call(call))
    };
    refused(
        Api::AnthropicMessages,
        &call("[1]"),
        &plain,
        "no body for anthropic-messages: segment 1 (assistant, dynamic): the call's arguments are no JSON object; \
         the endpoint takes nothing else, so leave the turn out, or send the conversation where it began",
    );
    assert!(
        sign(&call("{\"a\": "), "m")
            .body(Api::OpenAiChat, &plain)
            .is_ok()
    );
    let broken = sign(&call("{\"a\": "), "m")
        .body(Api::BedrockConverse, &plain)
        .unwrap_err();
    assert!(std::error::Error::source(&broken).is_some());
    assert!(
        body(Api::AnthropicMessages, "m", &call(" "))
            .as_str()
            .contains(r#""input":{}"#)
    );
    refused(
        Api::GeminiContent,
        &Chat::new()
            .turn(Turn::user("When?"))
            .turn(Turn::tool("c9", "noon")),
        &plain,
        "no body for gemini-content: segment 1 (tool, dynamic): the result names no tool call of the history; \
         keep the assistant's turn with the call, and give its id to `Turn::tool`",
    );
    refused(
        Api::BedrockConverse,
        &Chat::new()
            .turn(Turn::user("Hi"))
            .turn(Turn::assistant(" \n")),
        &plain,
        "no body for bedrock-converse: segment 1 (assistant, dynamic): the text is blank, which the endpoint refuses; \
         give it text or leave it out",
    );
    refused(
        Api::AnthropicMessages,
        &user
            .clone()
            .tool(r#"{"name":"a","input_schema":{},"cache_control":{}}"#),
        &plain,
        "no body for anthropic-messages: tool `a`: it has a cache marker `cache_control` of its own; take it out, \
         markers are placed for you",
    );
    refused(
        Api::GeminiContent,
        &user
            .clone()
            .tool(r#"{"type":"function","function":{"name":"a","strict":true}}"#),
        &plain,
        "no body for gemini-content: tool `a`: the endpoint's form has no place for `strict`; take it out, or write \
         the tool in the endpoint's own form",
    );
}

#[test]
fn prompts_of_other_shapes() {
    let sign = |prompt: Prompt, model: &str| {
        let options = SignOptions {
            model: model.into(),
            ..SignOptions::default()
        };
        prompt.sign(&BytesTokenizer, &options).unwrap()
    };
    let refused = |prompt: Prompt, model, api, expected: &str| {
        let error = sign(prompt, model)
            .body(api, &options(Keep::Short))
            .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    let plain = Prompt::builder()
        .static_("Translate.")
        .dynamic("Quay")
        .build()
        .unwrap();
    refused(plain, "m", Api::VllmChat, "has no roles");
    let late = || {
        let prompt = Prompt::builder().static_(Segment::user("Hi"));
        prompt
            .dynamic(Segment::system("Now: 09:30"))
            .build()
            .unwrap()
    };
    refused(
        late(),
        "m",
        Api::AnthropicMessages,
        "segment 1 (system, dynamic): the endpoint takes system text ahead",
    );
    refused(late(), "", Api::OpenAiChat, "set `SignOptions::model`");
    assert!(
        sign(late(), "m")
            .body(Api::OpenAiChat, &BodyOptions::default())
            .is_ok()
    );

    // A document that is the same for all, and a question about it in the same message.
    let ask = Prompt::builder()
        .static_(Segment::user(long()))
        .dynamic(Segment::user("When?"))
        .build()
        .unwrap();
    let body = sign(ask, "claude-sonnet-4-5")
        .body(Api::AnthropicMessages, &options(Keep::Short))
        .unwrap();
    assert_eq!(
        body.markers(),
        [MarkerPlace::StaticEnd, MarkerPlace::Newest]
    );
}

#[test]
fn a_choice_of_tools_stands_beside_the_tools_for_bedrock() {
    let options = |parameters: &[(&str, serde_json::Value)]| BodyOptions {
        parameters: parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
        ..BodyOptions::default()
    };
    let choice = ("toolChoice", json!({"tool": {"name": "tides"}}));
    let signed = sign(&conversation(), "claude-fable-5");
    let body = signed.body(
        Api::BedrockConverse,
        &options(std::slice::from_ref(&choice)),
    );
    let body = body.unwrap();
    let config = r#"],"toolChoice":{"tool":{"name":"tides"}}},"system":"#;
    assert_eq!(body.as_str().matches(config).count(), 1);
    assert_eq!(body.as_str().matches("toolChoice").count(), 1);

    let twice = signed.body(
        Api::BedrockConverse,
        &options(&[choice.clone(), choice.clone()]),
    );
    assert!(
        matches!(twice, Err(BodyError::Parameter { .. })),
        "{twice:?}"
    );

    let bare = sign(&Chat::new().turn(Turn::user("When?")), "claude-fable-5");
    let error = bare.body(Api::BedrockConverse, &options(&[choice]));
    assert_eq!(
        error.unwrap_err().to_string(),
        "no body for bedrock-converse: the parameter `toolChoice` is about tools, and the chat has none; take it out of \
         `BodyOptions::parameters`"
    );
}

#[test]
fn gemini_gets_its_thoughts_back_and_nobody_else() {
    let call = ToolCall {
        thought_signature: Some("c2ln".into()),
        ..tides()
    };
    let chat = |call| {
        Chat::new()
            .turn(Turn::user("When?"))
            .turn(Turn::assistant("").call(call))
            .turn(Turn::tool("c1", "noon"))
    };
    let signed = sign(&chat(call), "gemini-2.5-pro");
    // No text of the prompt, so not signed.
    assert_eq!(signed.text(), sign(&chat(tides()), "gemini-2.5-pro").text());
    for api in Api::ALL {
        let body = signed.body(api, &options(Keep::Short)).unwrap();
        let thought = r#""args":{"port":"North", "day":2.50}},"thoughtSignature":"c2ln"}"#;
        let expected = usize::from(api == Api::GeminiContent);
        assert_eq!(body.as_str().matches(thought).count(), expected, "{api}");
        assert_eq!(body.as_str().matches("c2ln").count(), expected, "{api}");
    }
}

#[test]
fn a_named_cache_stands_for_instructions_and_tools() {
    let options = BodyOptions {
        cached_content: Some("cachedContents/quay".into()),
        ..options(Keep::Short)
    };
    let signed = sign(&conversation(), "gemini-2.5-pro");
    let body = signed.body(Api::GeminiContent, &options).unwrap();
    let start = r#"{"cachedContent":"cachedContents/quay","contents":[{"role":"user","#;
    assert!(body.as_str().starts_with(start), "{}", body.as_str());
    assert!(!body.as_str().contains("functionDeclarations"));
    for api in Api::ALL {
        let refused = signed.body(api, &options).is_err();
        assert_eq!(refused, api != Api::GeminiContent, "{api}");
    }
}
