//! Text that a message has only in some place of the conversation: when the next message comes, it is
//! written in another way, and everything behind it is computed again.

use std::sync::LazyLock;

use headwater_text::Span;
use regex::Regex;

use crate::{
    code::{Block, Code, Tag, prints_variable},
    finding::Finding,
    matcher::{Matcher, Opening, Topic},
    pattern::own,
    rule::Rule,
    work,
};

/// Conditions that are looked at in one loop: what comes behind each is looked through.
const MAX_JUDGED: usize = 64;

/// A condition about where in the conversation a message stands.
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let parts = [
        r"\blast_\w*(?:index|idx|query|user|turn|message|msg|assistant|human)\w*",
        r"\b(?:query|user|final)_?(?:index|idx)\b",
        r"\w*messages\s*\[\s*-\s*1\s*\]",
        r"\bmessages\s*\|\s*(?:length|last|count)\b",
        r"\blen(?:gth)?\s*\(\s*messages\s*\)",
    ];
    own(&parts.join("|"))
});

/// The same, said about the innermost loop.
static PLACE_IN_LOOP: LazyLock<Option<Regex>> =
    LazyLock::new(|| own(r"\bloop\.(?:last|revindex0?)\b"));

/// What a condition about a place keeps from other turns.
struct Kept {
    span: Span,
    topic: Topic,
}

/// At most one finding a topic.
pub(crate) fn find(rules: &[Rule], code: &Code<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let kept: Vec<Kept> = code
        .history_loops()
        .iter()
        .flat_map(|block| kept(code, *block))
        .collect();
    for rule in rules {
        match &rule.matcher {
            _ if !rule.applies_to.holds(code.template) => {}
            Matcher::Turn(topic) => {
                let mine: Vec<&Kept> = kept.iter().filter(|kept| kept.topic == *topic).collect();
                if let Some(first) = mine.first() {
                    findings.push(finding(rule, code, first.span, mine.len()));
                }
            }
            Matcher::Opening(opening) => {
                if let Some(span) = opens(code, *opening) {
                    findings.push(finding(rule, code, span, 1));
                }
            }
            _ => {}
        }
    }
    findings
}

fn finding(rule: &Rule, code: &Code<'_>, span: Span, count: usize) -> Finding {
    let cost = code.template.static_bytes_from(span.start);
    let finding = Finding::new(rule, code.template, span, cost);
    finding.with("count", &count.to_string())
}

/// The conditions about places in the body of a loop over messages.
fn kept(code: &Code<'_>, history: Block) -> Vec<Kept> {
    let mut found = Vec::new();
    let mut judged = 0;
    for index in history.open + 1..history.close {
        if judged == MAX_JUDGED {
            break;
        }
        let tag = code.tags[index];
        let says = |pattern: &Option<Regex>| pattern.as_ref().is_some_and(|p| p.is_match(tag.code));
        let is_place = says(&PLACE) || says(&PLACE_IN_LOOP) && is_innermost(code, history, index);
        if !is_place || tag.code.contains("add_generation_prompt") {
            continue;
        }
        judged += 1;
        let arm = match tag.word() {
            "if" | "elif" => code.arm(index),
            _ if tag.prints && tag.code.contains(" if ") => Some(Block {
                open: index,
                close: index,
            }),
            _ => None,
        };
        let Some(arm) = arm else {
            continue;
        };
        let body = if tag.prints { tag.span } else { code.body(arm) };
        let inside = code.template.source().slice(body);
        if !code.prints(body) || inside.contains("add_generation_prompt") {
            continue;
        }
        if let Some(topic) = topic(code, index, arm, history, body) {
            found.push(Kept {
                span: tag.span,
                topic,
            });
        }
    }
    found
}

/// No other loop lies between the loop over messages and the tag.
fn is_innermost(code: &Code<'_>, history: Block, tag: usize) -> bool {
    let innermost = code.innermost_loop(tag);
    innermost.is_none_or(|block| block.open <= history.open)
}

/// What the text under a condition is about; none if nothing of the turn comes after it.
fn topic(code: &Code<'_>, index: usize, arm: Block, history: Block, body: Span) -> Option<Topic> {
    let condition = code.tags[index].code;
    let inside = code.template.source().slice(body);
    let about = |words: &[&str]| {
        words
            .iter()
            .any(|word| inside.contains(word) || condition.contains(word))
    };
    // A mark at the end of the last turn stays where it is when the next turn is written behind it.
    let own = code.tags[index];
    let prints = match own.prints {
        // `value if condition else other`
        true => own.code.split(" if ").next().is_some_and(prints_variable),
        false => code.within(body).any(Tag::prints_variable),
    };
    let turn_goes_on = prints
        || rest_of_turn(code, arm.close + usize::from(own.prints), history.close)
            .any(Tag::prints_variable);
    if !turn_goes_on {
        return None;
    }
    if about(&["think", "reasoning"]) {
        return Some(Topic::Reasoning);
    }
    let is_definition = inside.contains("tools") && !inside.contains("tool_call");
    if condition.contains("tools") || is_definition || inside.contains("AVAILABLE_TOOLS") {
        return Some(Topic::Tools);
    }
    Some(Topic::Other)
}

/// The tags that may be printed behind a tag, up to the end of the loop: other arms are not.
fn rest_of_turn<'c, 't>(
    code: &'c Code<'t>,
    from: usize,
    end: usize,
) -> impl Iterator<Item = &'c Tag<'t>> {
    let mut depth = 0_usize;
    let mut skips = false;
    code.tags[from..end].iter().filter(move |tag| {
        work::step();
        match tag.word() {
            "if" => depth += 1,
            "elif" | "else" if depth == 0 => skips = true,
            "endif" if depth == 0 => skips = false,
            "endif" => depth -= 1,
            _ => {}
        }
        !skips
    })
}

/// What the generation prompt writes and the history does not.
fn opens(code: &Code<'_>, opening: Opening) -> Option<Span> {
    let text = code.template.source().text();
    let prompt = code.last_if("add_generation_prompt")?;
    let body = code.body(prompt);
    let inside = code.template.source().slice(body);
    match opening {
        Opening::EmptyThinking => {
            let offset = inside.find("</think>")?;
            // The history writes an empty block too: both sides are alike.
            let prompt_has_both = !inside[..offset].ends_with(['\'', '"']);
            let outside = [&text[..body.start], &text[body.end..]];
            if outside
                .iter()
                .any(|part| writes_empty(part, prompt_has_both))
            {
                return None;
            }
            let start = body.start + offset;
            let end = start + "</think>".len();
            Some(Span { start, end })
        }
        Opening::ToolCallNewline => {
            let quoted = [r"'\n<tool_call>", "\"\\n<tool_call>"];
            let start = quoted.iter().find_map(|mark| text.find(mark))? + 1;
            // With a line break at its end, the header of the turn has written the same one.
            let header_ends_line =
                inside.contains(r"assistant\n") || inside.contains("assistant\n");
            let end = start + r"\n<tool_call>".len();
            (!header_ends_line && start < body.start).then_some(Span { start, end })
        }
    }
}

/// A text writes an empty block of reasoning, or its end where the generation prompt writes no more.
fn writes_empty(text: &str, with_start: bool) -> bool {
    if with_start {
        let empty = [
            "<think></think>",
            r"<think>\n\n</think>",
            "<think>\n\n</think>",
        ];
        return empty.iter().any(|block| text.contains(block));
    }
    END_ALONE.as_ref().is_some_and(|end| end.is_match(text))
}

/// `{{- '</think>' -}}`
static END_ALONE: LazyLock<Option<Regex>> =
    LazyLock::new(|| own(r#"\{\{-?\s*["']</think>(?:\\n)*["']"#));
