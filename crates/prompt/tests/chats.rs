//! Chats, what they send, and what their reports say, case by case.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use headwater::json::ToolOrder;
use headwater::signature::BlockSize;
use headwater::{
    Align, Border, BytesTokenizer, Chat, Error, HfTokenizer, Media, MediaDigest, Prepared, Prompt,
    PromptError, Report, RiskKind, SignOptions, SignedPrompt, SpecialTokens, ToolCall, Turn,
    assert_extends,
};
use serde_json::json;

#[path = "support/tiny.rs"]
mod tiny;

fn sign(chat: &Chat) -> SignedPrompt {
    let prompt = chat.prompt().unwrap();
    prompt
        .sign(&BytesTokenizer, &SignOptions::default())
        .unwrap()
}

fn hf() -> HfTokenizer {
    let json = tiny::tokenizer_json();
    HfTokenizer::from_json(json.as_bytes(), "tiny", SpecialTokens::Omitted).unwrap()
}

#[test]
fn the_order_is_that_of_the_cache_whatever_the_order_of_the_calls() {
    let chat = Chat::new()
        .turn(
            Turn::user("When?")
                .fact("now", "09:30\r\n")
                .fact("snippet", "High tide\nat noon."),
        )
        .semi_static("Tenant.")
        .system("Rules.")
        .tool(r#"{"name": "b"}"#)
        .tool(r#"{"name":"a",  "x": 1.0}"#);
    assert_eq!(
        sign(&chat).text(),
        "<|im_start|>tools\n[{\"name\": \"a\", \"x\": 1.0}, {\"name\": \"b\"}]<|im_end|>\n\
         <|im_start|>system\nRules.\nTenant.\n<|im_end|>\n\
         <|im_start|>user\n<now>\n09:30\n</now>\n<snippet>\nHigh tide\nat noon.\n</snippet>\nWhen?<|im_end|>\n\
         <|im_start|>assistant\n"
    );
    assert_eq!(
        sign(&chat).tools_json(),
        Some(r#"[{"name": "a", "x": 1.0}, {"name": "b"}]"#)
    );
    let given = chat.tool_order(ToolOrder::AsGiven);
    assert_eq!(
        sign(&given).tools_json(),
        Some(r#"[{"name": "b"}, {"name": "a", "x": 1.0}]"#)
    );
}

#[test]
fn examples_stand_between_the_rules_and_what_a_tenant_adds() {
    let chat = Chat::new()
        .semi_static("Tenant.")
        .example("Hi", "Hello.")
        .system("Rules.")
        .turn(Turn::user("When?"));
    let signed = sign(&chat);
    let roles: Vec<&str> = signed
        .messages()
        .unwrap()
        .iter()
        .map(|m| m.role.as_str())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "system", "user"]);
}

#[test]
fn turns_of_one_role_stay_apart() {
    let signed = sign(&Chat::new().turn(Turn::user("One")).turn(Turn::user("Two")));
    assert_eq!(signed.messages().map(|all| all.len()), Some(2));
}

#[test]
fn a_tool_call_is_replayed_to_the_letter() {
    let arguments = "{\"b\":1,  \"a\": 2.50}\r\n";
    let call = ToolCall {
        id: "c1".into(),
        name: "tides".into(),
        arguments: arguments.into(),
        ..ToolCall::default()
    };
    let chat = Chat::new()
        .turn(Turn::user("When?"))
        .turn(Turn::assistant("").call(call))
        .turn(Turn::tool("c1", "noon"));
    let signed = sign(&chat);
    assert_eq!(
        signed.messages_json().unwrap(),
        json!([
            {"role": "user", "content": "When?"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "tides", "arguments": arguments}},
            ]},
            {"role": "tool", "content": "noon", "tool_call_id": "c1"},
        ])
    );
    assert!(signed.text().contains(arguments));
    assert!(
        signed
            .text()
            .contains("<|im_start|>tool \"c1\"\nnoon<|im_end|>")
    );
    // What the model wrote is not cleaned; what a tool returned is.
    let chat = |turn: Turn| {
        sign(&Chat::new().turn(Turn::user("x")).turn(turn))
            .changes()
            .len()
    };
    assert_eq!(chat(Turn::assistant("a\r\nb").into()), 0);
    assert_eq!(chat(Turn::tool("c1", "a\r\nb").into()), 1);
}

#[test]
fn a_picture_is_named_by_its_content_and_sent_by_its_address() {
    let see = |bytes: &[u8], url: &str| {
        let image = Media::image(MediaDigest::of(bytes), url);
        sign(&Chat::new().turn(Turn::user("What is ").media(image).text("here?")))
    };
    let one = see(b"png", "https://example.com/a?sig=1");
    assert_eq!(
        one.messages_json().unwrap(),
        json!([{"role": "user", "content": [
            {"type": "text", "text": "What is "},
            {"type": "image_url", "image_url": {"url": "https://example.com/a?sig=1"}},
            {"type": "text", "text": "here?"},
        ]}])
    );
    assert!(!one.text().contains("example.com"));
    assert_eq!(
        one.headers(),
        see(b"png", "https://example.com/a?sig=2").headers()
    );
    assert_ne!(
        one.headers(),
        see(b"gif", "https://example.com/a?sig=1").headers()
    );
}

#[test]
fn errors_name_the_segment_the_place_and_the_next_step() {
    let check = |chat: &Chat, expected: &str| {
        assert_eq!(chat.prompt().unwrap_err().to_string(), expected);
        let prepared = Prepared::new(chat.clone(), BytesTokenizer, SignOptions::default());
        assert_eq!(prepared.unwrap_err().to_string(), expected);
    };
    check(&Chat::new(), "the prompt has no segments; add at least one");
    check(
        &Chat::new().turn(Turn::user("x").fact("the clock", "1")),
        "segment 0 `the clock` (user, dynamic), line 1, column 1: the fact's name is no name; \
         use letters, digits, `_` and `-`",
    );
    let error = Chat::new()
        .tool("{\"name\": \"a\",\n \"x\": NaN}")
        .prompt()
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("segment 0 `tools` (static), line 2, column 7: `/0/x`: "),
        "{error}"
    );
    assert!(matches!(error, PromptError::Json { .. }));
    let error = Error::from(error);
    assert_eq!(
        error.place().map(|(segment, at)| (segment.index, at.line)),
        Some((0, 2))
    );
    let mut talk = Prepared::new(
        Chat::new().system("x"),
        BytesTokenizer,
        SignOptions::default(),
    )
    .unwrap()
    .conversation();
    assert_eq!(
        talk.drop_turns(0..1).unwrap_err().to_string(),
        "there are no turns 0..1 in a conversation of 0; count from 0"
    );
}

#[test]
fn a_refused_turn_and_a_broken_route_leave_the_conversation_as_it_was() {
    let head = Prepared::new(
        Chat::new().system("x"),
        BytesTokenizer,
        SignOptions::default(),
    );
    let mut talk = head.unwrap().conversation();
    let before = talk.ask("Hello").unwrap();
    talk.push(Turn::user("x").fact("", "1")).unwrap_err();
    talk.observe_route("w=nonsense").unwrap_err();
    assert_eq!(talk.sign().unwrap().headers(), before.headers());
    assert_eq!(talk.turns(), 1);
}

#[test]
fn the_echo_says_how_much_the_worker_has_seen() {
    let head = Prepared::new(
        Chat::new().system("x"),
        BytesTokenizer,
        SignOptions::default(),
    );
    let mut talk = head.unwrap().conversation();
    talk.observe_route("w=:AAECAw==:, matched=0, reason=cold")
        .unwrap();
    let first = talk.ask("Hello").unwrap();
    assert_eq!(first.signature().echo(), None);
    talk.observe_route("w=:AAECAw==:, matched=0, reason=cold")
        .unwrap();
    talk.push(Turn::assistant("Hi.")).unwrap();
    let echo = talk.ask("And?").unwrap().signature().echo().unwrap();
    assert_eq!(
        (echo.tag.as_bytes(), echo.tokens),
        (&[0, 1, 2, 3], first.tokens())
    );
}

#[test]
fn a_rewritten_turn_is_found_with_its_place() {
    let head = Prepared::new(
        Chat::new().system("Rules."),
        BytesTokenizer,
        SignOptions::default(),
    );
    let mut talk = head.unwrap().conversation();
    talk.push(Turn::user("One\ntwo three")).unwrap();
    talk.push(Turn::assistant("Four.")).unwrap();
    let before = talk.ask("Five?").unwrap();
    let cost = talk.rewrite(0, Turn::user("One\ntwo tree")).unwrap();
    let after = talk.sign().unwrap();
    let found = assert_extends(&before, &after).unwrap_err();
    assert_eq!(found.segment.as_ref().map(|segment| segment.index), Some(1));
    assert_eq!((found.position.line, found.position.column), (2, 6));
    assert!(
        found.previous.starts_with("hree<|im_end|>") && found.next.starts_with("ree<|im_end|>")
    );
    assert_eq!(
        before.text().as_bytes()[..found.byte],
        after.text().as_bytes()[..found.byte]
    );
    assert_eq!(cost.first_turn, 0);
    assert_eq!(cost.kept_tokens, u32::try_from(found.byte / 4).unwrap());
}

fn report(prompt: &Prompt, block: u32, align: Align) -> (SignedPrompt, Report) {
    let block = BlockSize::new(block).unwrap();
    let options = SignOptions {
        block,
        align,
        ..SignOptions::default()
    };
    let signed = prompt.sign(&hf(), &options).unwrap();
    let report = signed.report();
    (signed, report)
}

#[test]
fn tokens_of_turns_add_up_and_every_rung_says_what_it_is() {
    let chat = Chat::new()
        .system("the ferry the ferry the ferry.")
        .semi_static("the tenant of the ferry")
        .turn(Turn::user("when?\r\n"))
        .turn(Turn::assistant("at noon."))
        .turn(Turn::user("and then?").fact("now", "12:12"));
    let (signed, report) = report(&chat.prompt().unwrap(), 4, Align::Off);
    let turns: u32 = report.turns.iter().map(|turn| turn.tokens).sum();
    let invitation = 1 + "assistant:".len();
    assert!(turns < report.tokens && report.tokens <= turns + u32::try_from(invitation).unwrap());
    assert_eq!(report.segments.len(), 6);
    assert_eq!(report.segments[2].changes, 1);
    let rungs: Vec<u32> = report.rungs.iter().map(|rung| rung.blocks).collect();
    let named: Vec<u32> = signed
        .signature()
        .rungs()
        .iter()
        .map(|rung| rung.blocks)
        .collect();
    assert_eq!(rungs, named);
    for border in &report.borders {
        assert!(
            border.aligned_tokens <= border.stable_tokens && border.stable_tokens <= border.tokens
        );
        let rung = report
            .rungs
            .iter()
            .find(|rung| rung.stands_for.contains(&border.border))
            .unwrap();
        assert_eq!(rung.tokens, border.aligned_tokens, "{}", border.border);
    }
    assert!(
        report
            .rungs
            .iter()
            .any(|rung| rung.stands_for == [Border::Ladder])
    );
    let reuse = report.reuse;
    assert!(reuse.same_template_tokens < reuse.same_tenant_tokens);
    assert!(reuse.same_tenant_tokens < reuse.same_conversation_tokens);
}

#[test]
fn the_table_has_no_word_of_the_prompt() {
    let chat = Chat::new()
        .system("secret words.")
        .turn(Turn::user("secret").fact("now", "secret"));
    let (_, report) = report(&chat.prompt().unwrap(), 4, Align::Newlines);
    let table = report.to_string();
    assert!(!table.contains("secret"), "{table}");
    assert!(
        table.contains("static end") && table.contains("alignment  segment 0"),
        "{table}"
    );
}

#[test]
fn an_end_that_does_not_hold_is_a_risk() {
    use headwater::Segment;
    let check = |stable: &str, next: &str, expected: Option<RiskKind>| {
        let prompt = Prompt::builder()
            .static_(Segment::new(stable).verbatim())
            .dynamic(next)
            .build();
        let (_, report) = report(&prompt.unwrap(), 1, Align::Off);
        let kinds: Vec<RiskKind> = report.risks.iter().map(|risk| risk.kind).collect();
        assert_eq!(kinds, Vec::from_iter(expected), "{stable:?} {next:?}");
        for risk in &report.risks {
            assert_eq!(risk.unstable_tokens, risk.lost_tokens);
            assert!(risk.lost_tokens.unwrap() > 0, "{stable:?} {next:?}");
        }
    };
    check("the ferry ", "the", Some(RiskKind::TrailingSpace));
    check("the ferr", "y", Some(RiskKind::MidWord));
    check("the ferry:\n", "\nx", Some(RiskKind::Merges));
    check("the ferry!", "x", None);
    // A tokenizer's own end token is not at risk.
    let prompt = Prompt::builder()
        .static_("the ferry!")
        .dynamic("x")
        .build()
        .unwrap();
    let json = tiny::tokenizer_json();
    let added = HfTokenizer::from_json(json.as_bytes(), "tiny", SpecialTokens::Added).unwrap();
    let signed = prompt.sign(&added, &SignOptions::default()).unwrap();
    assert_eq!(signed.report().borders[0].tokens, 7);
    // Without a vocabulary the shape is known and the price is not.
    let prompt = Prompt::builder()
        .static_(Segment::new("the ferr").verbatim())
        .dynamic("y")
        .build();
    let signed = prompt
        .unwrap()
        .sign(&BytesTokenizer, &SignOptions::default())
        .unwrap();
    let risk = &signed.report().risks[0];
    assert_eq!((risk.kind, risk.lost_tokens), (RiskKind::MidWord, None));
    assert_eq!((risk.position.line, risk.position.column), (1, 8));
}

#[test]
fn padding_puts_the_ends_of_stable_parts_on_block_borders() {
    let chat = Chat::new()
        .system("Rules of the ferry.")
        .semi_static("Tenant")
        .turn(Turn::user("When?"));
    let prompt = chat.prompt().unwrap();
    let options = |align| SignOptions {
        align,
        ..SignOptions::default()
    };
    let padded = prompt
        .sign(&BytesTokenizer, &options(Align::Newlines))
        .unwrap();
    let report = padded.report();
    assert_eq!(report.paddings.len(), 2);
    for border in report.borders.iter().take(2) {
        assert_eq!(border.stable_tokens % 16, 0, "{}", border.border);
        assert!(border.tokens > 0);
    }
    // Nothing but newlines, and what is signed is what is sent.
    let plain = prompt.sign(&BytesTokenizer, &options(Align::Off)).unwrap();
    let visible = |signed: &SignedPrompt| signed.text().replace('\n', "");
    assert_eq!(visible(&padded), visible(&plain));
    assert!(
        padded
            .text()
            .contains(&*padded.messages().unwrap()[0].content)
    );
    assert!(plain.report().paddings.is_empty());
}

#[test]
fn padding_that_cannot_reach_a_border_adds_nothing() {
    // All pairs of newlines merge, so the last one is never sure to stay.
    let chat = Chat::new().system("the ferry").turn(Turn::user("When?"));
    let prompt = chat.prompt().unwrap();
    for block in 1..40 {
        let (padded, aligned) = report(&prompt, block, Align::Newlines);
        let (plain, _) = report(&prompt, block, Align::Off);
        let padding = &aligned.paddings[0];
        match padding.newlines {
            Some(newlines) => {
                assert_eq!(padding.aligned_tokens % block, 0);
                assert_eq!(padded.text().len(), plain.text().len() + newlines);
                assert_eq!(aligned.borders[0].aligned_tokens, padding.aligned_tokens);
            }
            None => assert_eq!(padded.text(), plain.text()),
        }
    }
}

/// Some templates write tools behind the instructions. Then two chats share the tools only if they
/// share the instructions, so no name may end among the tools.
#[test]
fn tools_promise_nothing_without_the_instructions() {
    let parameters = "a description of the parameter. ".repeat(40);
    let tool = format!(r#"{{"name": "tides", "description": "{parameters}"}}"#);
    let chat = |system: Option<&str>, tenant: Option<&str>, tools: bool| {
        let mut chat = Chat::new();
        if tools {
            chat = chat.tool(&tool);
        }
        if let Some(system) = system {
            chat = chat.system(system.repeat(30));
        }
        if let Some(tenant) = tenant {
            chat = chat.semi_static(tenant.repeat(30));
        }
        sign(&chat.turn(Turn::user("When is high tide? ".repeat(20))))
    };
    let names = |signed: &SignedPrompt| -> Vec<_> { signed.signature().rungs().to_vec() };
    let shared = |one: &SignedPrompt, other: &SignedPrompt| {
        let other = names(other);
        names(one)
            .iter()
            .filter(|rung| other.contains(rung))
            .count()
    };
    for (one, other) in [
        ((Some("Be brief. "), None), (Some("Be polite. "), None)),
        ((None, Some("Tenant one. ")), (None, Some("Tenant two. "))),
    ] {
        let (one, other) = (chat(one.0, one.1, true), chat(other.0, other.1, true));
        assert!(names(&one).len() > 1);
        assert_eq!(shared(&one, &other), 0);
        let tools_end = one.text().find("<|im_end|>").unwrap();
        let tools = u32::try_from(tools_end / 4 / 16).unwrap();
        assert!(names(&one).iter().all(|rung| rung.blocks > tools));
    }
    // What all requests share is still named, and so is a prompt of nothing but tools.
    let (one, other) = (
        chat(Some("Be brief. "), Some("Tenant one. "), true),
        chat(Some("Be brief. "), Some("Tenant two. "), true),
    );
    assert_eq!(shared(&one, &other), 1);
    assert!(one.report().reuse.same_template_tokens > 0);
    let tools_alone = chat(None, None, true);
    assert!(tools_alone.report().reuse.same_template_tokens > 0);
    // Nobody can count on tools without the instructions behind them.
    let tenant = chat(None, Some("Tenant one. "), true);
    assert_eq!(tenant.report().reuse.same_template_tokens, 0);
    // Without tools the ladder begins where it always did.
    let bare = chat(Some("Be brief. "), None, false);
    assert!(names(&bare).first().is_some_and(|rung| rung.blocks == 1));
}

#[test]
fn text_of_a_message_is_a_view_of_what_was_signed() {
    let chat = Chat::new()
        .system("Be brief.")
        .semi_static("Tenant: North Quay.")
        .turn(Turn::user("When?").fact("now", "09:30"))
        .turn(
            Turn::user("Before.")
                .media(Media::image(
                    MediaDigest::of(b"png"),
                    "https://quay.example/a.png",
                ))
                .text("After.")
                .text(" More."),
        );
    let signed = sign(&chat);
    let messages = signed.messages().unwrap();
    let contents: Vec<_> = messages.iter().map(|it| &*it.content).collect();
    assert_eq!(
        contents,
        [
            "Be brief.\nTenant: North Quay.\n",
            "<now>\n09:30\n</now>\nWhen?",
            "Before.After. More.",
        ]
    );
    let borrowed: Vec<_> = messages
        .iter()
        .map(|it| matches!(it.content, std::borrow::Cow::Borrowed(_)))
        .collect();
    assert_eq!(borrowed, [true, true, false]);
    assert_eq!(messages[2].attachments[0].at, "Before.".len());
}
