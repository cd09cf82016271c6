//! `traceparent`, the header that carries a trace from one process to the next (W3C).

use std::fmt;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What vendors say beside it; means nothing without.
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// A trace, and the span in it that is the parent of whatever comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    pub(crate) trace: TraceId,
    pub(crate) span: SpanId,
    flags: u8,
}

/// Names a trace; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceId(u128);

/// Names a span within its trace; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpanId(u64);

const SAMPLED: u8 = 1;
/// The trace's name was drawn by dice, as whoever began it says.
const RANDOM: u8 = 2;

impl TraceContext {
    /// The context that a request came with; nothing if there is none that can be used.
    pub(crate) fn of_headers(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let text = values.next().map(HeaderValue::to_str)?.ok()?;
        values.next().is_none().then(|| Self::parse(text))?
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut part = |length: usize| {
            let part = parts.next().filter(|part| part.len() == length)?;
            let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            part.bytes().all(hex).then_some(part)
        };
        let version = part(2)?;
        let (trace, span, flags) = (part(32)?, part(16)?, part(2)?);
        // A later version may say more, but says this first.
        let more = parts.next().is_some();
        let trace = u128::from_str_radix(trace, 16).ok().filter(|id| *id != 0)?;
        let span = u64::from_str_radix(span, 16).ok().filter(|id| *id != 0)?;
        let known = version != "ff" && !(version == "00" && more);
        known.then_some(Self {
            trace: TraceId(trace),
            span: SpanId(span),
            flags: u8::from_str_radix(flags, 16).ok()?,
        })
    }

    /// A span of our own: within the trace above, or at the root of a new one.
    pub(crate) fn below(above: Option<Self>, (high, low): (u64, u64), own: u64) -> Self {
        let new = TraceId((u128::from(high) << 64 | u128::from(low)).max(1));
        Self {
            trace: above.map_or(new, |above| above.trace),
            span: SpanId(own.max(1)),
            flags: SAMPLED | above.map_or(0, |above| above.flags & RANDOM),
        }
    }

    pub(crate) fn sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, self.flags)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_the_standard_says() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let check = |text: &str, usable: bool| {
            assert_eq!(TraceContext::parse(text).is_some(), usable, "{text}");
        };
        assert_eq!(TraceContext::parse(good).unwrap().to_string(), good);
        assert!(TraceContext::parse(good).unwrap().sampled());
        check(&good.replace("-01", "-00"), true);
        check(&good.replacen("00", "01", 1), true);
        check(&(good.replacen("00", "01", 1) + "-more"), true);
        check(&format!("{good}-more"), false);
        check(&good.replacen("00", "ff", 1), false);
        check(&good.to_uppercase(), false);
        check(&good.replace("b7ad6b7169203331", "0000000000000000"), false);
        check(&good[..54], false);
        check("", false);
    }
}
