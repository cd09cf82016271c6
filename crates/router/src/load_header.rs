//! A worker's load in the head of its answer (ORCA): fresher than any scrape, and asked for only
//! where the configuration says so.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// What asks for it.
pub(crate) const FORMAT: HeaderName = HeaderName::from_static("endpoint-load-metrics-format");

/// What carries it.
pub(crate) const LOAD: HeaderName = HeaderName::from_static("endpoint-load-metrics");

/// The form that is asked for: shorter than JSON.
pub(crate) const TEXT: HeaderValue = HeaderValue::from_static("TEXT");

/// Longer values are no load.
const LONGEST: usize = 4_096;

/// What an answer told. What is absent is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Load {
    pub(crate) kv_use: Option<f64>,
    pub(crate) running: Option<u32>,
    pub(crate) waiting: Option<u32>,
}

/// Who asked for it, and so whether the client gets to see it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    ByUs,
    ByClient,
}

/// Asks for it, unless the client does.
pub(crate) fn ask(headers: &mut HeaderMap) -> Asked {
    if headers.contains_key(FORMAT) {
        return Asked::ByClient;
    }
    headers.insert(FORMAT, TEXT);
    Asked::ByUs
}

/// Takes it from an answer.
pub(crate) fn take(headers: &mut HeaderMap, asked: Asked) -> Option<Load> {
    let load = headers
        .get(LOAD)
        .and_then(|value| Load::parse(value.to_str().ok()?));
    if asked == Asked::ByUs {
        headers.remove(LOAD);
    }
    load
}

impl Load {
    /// Reads `TEXT name=value, …` or `JSON {…}`; nothing where neither says anything.
    fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let mut load = Self::default();
        if let Some(json) = text.strip_prefix("JSON ") {
            let json: serde_json::Value = serde_json::from_str(json).ok()?;
            let named = json.get("named_metrics")?.as_object()?;
            for (name, value) in named {
                load.add(name, value.as_f64());
            }
        } else {
            for pair in text.strip_prefix("TEXT ").unwrap_or(text).split(',') {
                if let Some((name, value)) = pair.split_once('=') {
                    let name = name.trim();
                    let name = name.strip_prefix("named_metrics.").unwrap_or(name);
                    load.add(name, value.trim().parse().ok());
                }
            }
        }
        (load != Self::default()).then_some(load)
    }

    fn add(&mut self, name: &str, value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite() && *value >= 0.0) else {
            return;
        };
        match name {
            "kv_cache_usage_perc" => self.kv_use = Some(value).filter(|value| *value <= 1.0),
            "num_requests_running" => self.running = count(value),
            "num_requests_waiting" => self.waiting = count(value),
            _ => {}
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked against the range just before"
)]
fn count(value: f64) -> Option<u32> {
    (0.0..=f64::from(u32::MAX))
        .contains(&value)
        .then(|| value.round() as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: Option<(Option<f64>, Option<u32>)>) {
        let found = Load::parse(text).map(|load| (load.kv_use, load.waiting));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn both_forms_are_read() {
        check(
            "TEXT named_metrics.kv_cache_usage_perc=0.4, named_metrics.num_requests_waiting=2.0",
            Some((Some(0.4), Some(2))),
        );
        check(
            "JSON {\"named_metrics\": {\"kv_cache_usage_perc\": 0.9, \"other\": 1}}",
            Some((Some(0.9), None)),
        );
        check(
            "named_metrics.num_requests_waiting=3",
            Some((None, Some(3))),
        );
        for nothing in [
            "",
            "TEXT ",
            "JSON {",
            "JSON []",
            "TEXT cpu_utilization=0.5",
            "TEXT named_metrics.kv_cache_usage_perc=NaN",
            "TEXT named_metrics.kv_cache_usage_perc=40",
            "TEXT named_metrics.num_requests_waiting=-1",
        ] {
            check(nothing, None);
        }
    }

    #[test]
    fn who_did_not_ask_does_not_see_it() {
        let answer = || HeaderMap::from_iter([(LOAD, HeaderValue::from_static("TEXT a=1"))]);
        let mut headers = HeaderMap::new();
        assert!(ask(&mut headers) == Asked::ByUs && headers[FORMAT] == "TEXT");
        assert!(ask(&mut headers) == Asked::ByClient);
        let mut hidden = answer();
        take(&mut hidden, Asked::ByUs);
        assert!(hidden.is_empty());
        let mut shown = answer();
        take(&mut shown, Asked::ByClient);
        assert_eq!(shown.len(), 1);
    }

    proptest! {
        #[test]
        fn no_text_stops_the_reader(text in "(TEXT |JSON )?[\\PC{}\":=,.0-9a-z_]{0,60}") {
            let _ = Load::parse(&text);
        }
    }
}
