//! The provider limits: every row is sound, and the closest row answers.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::time::Duration;

use headwater::provider::{Limits, LimitsError, Provider, limits};

#[test]
fn every_row_has_a_source_and_a_date_and_says_something_new() {
    let limits = limits().unwrap();
    assert!(limits.rows().len() > 30);
    let first = "2025-01-01".parse().unwrap();
    let mut seen = BTreeSet::new();
    for row in limits.rows() {
        assert!(row.source.len() > 8, "{row:?}");
        assert!(row.date > first, "{row:?}");
        // Two rows of one kind for one model would hide each other.
        let kind = std::mem::discriminant(&row.fact);
        let models = row.models.iter().cloned();
        for model in models.chain(row.models.is_empty().then(String::new)) {
            assert!(
                seen.insert(format!("{} {model} {kind:?}", row.provider.as_str())),
                "{row:?}"
            );
        }
    }
}

#[track_caller]
fn minimum(provider: Provider, model: &str, expected: Option<u32>) {
    let rules = limits().unwrap().rules(provider, model);
    assert_eq!(rules.minimum_tokens, expected);
}

#[test]
fn the_closest_row_answers() {
    minimum(Provider::Anthropic, "claude-opus-5", Some(512));
    minimum(
        Provider::Anthropic,
        "claude-sonnet-4-5-20250929",
        Some(1024),
    );
    minimum(Provider::Anthropic, "claude-opus-4-1-20250805", Some(1024));
    minimum(Provider::Anthropic, "claude-opus-4-20250514", Some(1024));
    minimum(Provider::Anthropic, "anthropic/claude-opus-4.7", Some(2048));
    minimum(Provider::Anthropic, "claude-3-5-haiku-latest", Some(2048));
    minimum(Provider::Anthropic, "Claude-Haiku-4-5", Some(4096));
    minimum(Provider::Anthropic, "claude-opus-45", None);
    minimum(Provider::Anthropic, "claude-opus-4-9", None);
    // The provider matters, not only the model.
    minimum(Provider::Anthropic, "claude-fable-5", Some(512));
    minimum(
        Provider::Bedrock,
        "us.anthropic.claude-fable-5-v1:0",
        Some(1024),
    );
    minimum(Provider::OpenAi, "gpt-5.1", Some(1024));
    minimum(Provider::Gemini, "gemini-2.5-pro", Some(4096));
}

#[test]
fn a_family_adds_to_what_holds_for_all() {
    let limits = limits().unwrap();
    let rules = limits.rules(Provider::OpenAi, "gpt-5.6-mini");
    assert_eq!(rules.max_markers, Some(4));
    assert_eq!(rules.marker_key.as_deref(), Some("prompt_cache_breakpoint"));
    assert_eq!(rules.routing_key.as_deref(), Some("prompt_cache_key"));
    assert_eq!(limits.rules(Provider::OpenAi, "gpt-5.60").max_markers, None);

    let times = |model| limits.rules(Provider::DashScope, model).lifetimes;
    assert_eq!(times("qwen3-max").len(), 1);
    assert_eq!(times("qwen4-max")[1].as_str(), "1h");
    assert_eq!(times("qwen4-max")[1].duration(), Duration::from_secs(3600));
}

/// `row` is the end of a row, and the error names the row, counted from 1.
#[track_caller]
fn refused(row: &str, expected: &str) {
    let good = r#"{provider: azure, step_tokens: 1, date: 2026-01-31, source: "a page"}"#;
    let yaml = format!("rows:\n  - {good}\n  - {{provider: azure, {row}}}\n");
    let error = Limits::parse(&yaml).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_row_that_cannot_be_is_refused() {
    refused("step_tokens: 1, date: 2026-01-31", "source");
    refused("step_tokens: 1, source: a page", "date");
    refused("step_tokens: 1, date: 2026-01-31, source: ' '", "row 2");
    refused("step_tokens: 1, date: 2026-13-01, source: a", "no date");
    refused("step_tokens: 1, date: 26-1-1, source: a", "no date");
    refused("date: 2026-01-31, source: a", "exactly one fact");
    refused(
        "step_tokens: 1, max_markers: 4, date: 2026-01-31, source: a",
        "exactly one fact",
    );
    refused("step_tokens: 0, date: 2026-01-31, source: a", "zero");
    refused("lifetimes: [1h, 5m], date: 2026-01-31, source: a", "sort");
    refused(
        "lifetimes: [5s], date: 2026-01-31, source: a",
        "no lifetime",
    );
    refused("steps: 1, date: 2026-01-31, source: a", "steps");
    assert!(matches!(
        Limits::parse("rows: 1"),
        Err(LimitsError::Form { .. })
    ));
}
