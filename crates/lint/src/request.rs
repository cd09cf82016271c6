//! Fields of a request's body beside its prompt: the model, the key of the cache, the order of all.

use headwater_template::{ApiKind, Role, Template};
use headwater_text::Span;

use crate::{
    finding::Finding,
    matcher::{Matcher, Minimum, RequestFault},
    rule::Rule,
};

/// A key at the top of the body with what stands behind it.
struct Field<'t> {
    key: &'t str,
    span: Span,
    /// As it is written.
    value: &'t str,
}

/// Findings of all rules about requests.
pub(crate) fn find(rules: &[Rule], template: &Template) -> Vec<Finding> {
    let Some(api) = template.api() else {
        return Vec::new();
    };
    let fields = fields(template.source().file().text());
    let mut findings = Vec::new();
    for rule in rules {
        let found = match &rule.matcher {
            Matcher::Request(RequestFault::RandomKey) => random_key(&fields),
            Matcher::Request(RequestFault::KeyOrder) => key_order(&fields),
            Matcher::Request(RequestFault::VaryingParameter) => varying_parameter(api, &fields),
            Matcher::Request(RequestFault::AutomaticMarker) => automatic_marker(&fields),
            Matcher::CacheKey(rows) => missing_key(template, rows, api.as_str(), &fields),
            Matcher::Minimum(rows) => {
                findings.extend(too_short(rule, template, rows, api.as_str(), &fields));
                None
            }
            _ => None,
        };
        if let Some((span, detail)) = found {
            let cost = template.static_bytes_from(0);
            let finding = Finding::at_file(rule, template, span, cost);
            findings.push(finding.with("detail", detail));
        }
    }
    findings
}

/// A key that no second request can have: it looks like a UUID or a time.
fn random_key<'t>(fields: &[Field<'t>]) -> Option<(Span, &'t str)> {
    let field = fields
        .iter()
        .find(|field| field.key == "prompt_cache_key")?;
    let key = field.value.trim_matches('"');
    let groups: Vec<&str> = key.split('-').collect();
    let is_hex = |group: &&str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    let sizes: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let is_uuid = sizes.ends_with(&[8, 4, 4, 4, 12]) && groups.iter().rev().take(5).all(is_hex);
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    let is_time = digits >= 10 && key.len() <= digits + 10;
    let is_long_hex = key.len() >= 32 && is_hex(&key);
    (is_uuid || is_time || is_long_hex).then_some((field.span, key))
}

/// Messages that stand ahead of what is put in front of them.
fn key_order<'t>(fields: &[Field<'t>]) -> Option<(Span, &'t str)> {
    let at = |key: &str| fields.iter().position(|field| field.key == key);
    let messages = at("messages")?;
    let late = ["tools", "system"]
        .into_iter()
        .filter_map(at)
        .find(|late| *late > messages)?;
    Some((fields[messages].span, fields[late].key))
}

/// A parameter that a cached prompt depends on, with a place in it that each request fills in.
fn varying_parameter<'t>(api: ApiKind, fields: &[Field<'t>]) -> Option<(Span, &'t str)> {
    let parameters: &[&str] = match api {
        ApiKind::Anthropic => &["tool_choice", "thinking", "output_config"],
        ApiKind::Bedrock => &["additionalModelRequestFields"],
        _ => &[],
    };
    let is_filled_in = |value: &str| value.contains("{{") && value.contains("}}");
    let found = fields
        .iter()
        .find(|field| parameters.contains(&field.key) && is_filled_in(field.value))?;
    Some((found.span, found.key))
}

/// The field at the top of a request that Bedrock does not know.
fn automatic_marker<'t>(fields: &[Field<'t>]) -> Option<(Span, &'t str)> {
    let mut all = fields.iter();
    let bedrock = all.any(|field| {
        field.key == "anthropic_version" && field.value.trim_matches('"').starts_with("bedrock")
    });
    let field = fields.iter().find(|field| field.key == "cache_control")?;
    bedrock.then_some((field.span, field.key))
}

/// A long prompt for a model that finds prefixes by the key, without one; the model.
fn missing_key<'t>(
    template: &Template,
    rows: &[Minimum],
    api: &str,
    fields: &[Field<'t>],
) -> Option<(Span, &'t str)> {
    let model = fields.iter().find(|field| field.key == "model")?;
    let name = model.value.trim_matches('"');
    let minimum = minimum(rows, api, name)?;
    // An older field that did the same.
    let has_key = |field: &Field<'_>| matches!(field.key, "prompt_cache_key" | "user");
    let newest = template
        .parts()
        .iter()
        .rev()
        .find(|part| part.role == Role::User);
    let end = newest.map_or(usize::MAX, |part| part.span.start);
    let all = template.static_bytes_from(0);
    let tokens = crate::finding::estimate_tokens(all - template.static_bytes_from(end).min(all));
    (tokens >= minimum && !fields.iter().any(has_key)).then_some((model.span, name))
}

fn too_short(
    rule: &Rule,
    template: &Template,
    rows: &[Minimum],
    api: &str,
    fields: &[Field<'_>],
) -> Option<Finding> {
    let field = fields
        .iter()
        .find(|field| field.key == "model" || field.key == "modelId")?;
    let model = field.value.trim_matches('"');
    let minimum = minimum(rows, api, model)?;
    let marker = template.markers().last()?;
    let (end, place) = (marker.at, marker.in_file);
    let all = template.static_bytes_from(0);
    let bytes = all - template.static_bytes_from(end).min(all);
    let tokens = crate::finding::estimate_tokens(bytes);
    if tokens >= minimum {
        return None;
    }
    let finding = Finding::at_file(rule, template, place, bytes);
    Some(
        finding
            .with("tokens", &tokens.to_string())
            .with("minimum", &minimum.to_string())
            .with("model", model),
    )
}

/// The row with the longest part of the model's name; one without names is for the others.
fn minimum(rows: &[Minimum], api: &str, model: &str) -> Option<usize> {
    let model = model.replace(['.', '_'], "-");
    let fits = |row: &&Minimum| row.api == api;
    let length = |row: &Minimum| {
        let parts = row
            .models
            .iter()
            .filter(|part| model.contains(part.as_str()));
        match parts.map(String::len).max() {
            Some(length) => Some(length),
            None => row.models.is_empty().then_some(0),
        }
    };
    let rows = rows.iter().filter(fits);
    rows.filter_map(|row| Some((length(row)?, row.tokens)))
        .max_by_key(|(length, _)| *length)
        .map(|(_, tokens)| tokens)
}

/// The fields of the outermost object.
fn fields(text: &str) -> Vec<Field<'_>> {
    let mut fields: Vec<Field<'_>> = Vec::new();
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = string_end(bytes, at);
                let behind = text.get(end..).unwrap_or_default().trim_start();
                if let Some(value) = behind.strip_prefix(':').filter(|_| depth == 1) {
                    fields.push(Field {
                        key: text.get(at + 1..end.saturating_sub(1)).unwrap_or_default(),
                        span: Span { start: at, end },
                        value: self::value(value.trim_start()),
                    });
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    fields
}

/// The value at the start of a text, as it is written.
fn value(text: &str) -> &str {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = string_end(bytes, at);
                if depth == 0 {
                    break;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 0 => depth -= 1,
            b',' | b'}' | b']' | b'\n' if depth == 0 => break,
            _ => {}
        }
        at += 1;
    }
    text.get(..at).unwrap_or_default()
}

/// One behind the closing quote, or the end.
fn string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'"' => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}
