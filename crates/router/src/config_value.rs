//! Checked values of the configuration: each reader refuses what is out of range, at its place.

use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

use headwater_placement::{Order, Policy};
use hyper::header::HeaderName;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::config::BodyKey;
use crate::worker_url::WorkerUrl;

pub(crate) fn address<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    from.deserialize_str(Text(|text: &str| {
        text.parse().map_err(|_| {
            format!(
                "`{text}` is not an address; write an IP address and a port, such as `127.0.0.1:8080`"
            )
        })
    }))
}

pub(crate) fn some_address<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<SocketAddr>, D::Error> {
    address(from).map(Some)
}

pub(crate) fn policy<'de, D: Deserializer<'de>>(from: D) -> Result<Policy, D::Error> {
    from.deserialize_str(Text(policy_of))
}

pub(crate) fn some_policy<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Policy>, D::Error> {
    policy(from).map(Some)
}

/// The policy of this name.
fn policy_of(text: &str) -> Result<Policy, String> {
    // The simulator's command line writes them with dashes.
    let name = text.replace('-', "_");
    let known = Policy::ALL.iter().find(|policy| policy.as_str() == name);
    known.copied().ok_or_else(|| {
        let names = Policy::ALL.map(|policy| format!("`{}`", policy.as_str()));
        format!("`{text}` is not a policy; use one of {}", names.join(", "))
    })
}

pub(crate) fn default_policy() -> Policy {
    Policy::Cost
}

pub(crate) fn default_drain_seconds() -> u64 {
    30
}

pub(crate) fn default_session_headers() -> Vec<String> {
    ["x-session-id", "x-smg-routing-key"]
        .map(str::to_owned)
        .into()
}

/// Headers that differ on every request: as a key they would scatter every conversation.
const NEVER_A_SESSION: [&str; 5] = [
    "x-request-id",
    "x-trace-id",
    "x-correlation-id",
    "traceparent",
    "x-b3-traceid",
];

pub(crate) fn session_headers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<SessionHeader>::deserialize(from)?;
    Ok(names.into_iter().map(|name| name.0).collect())
}

struct SessionHeader(String);

impl<'de> Deserialize<'de> for SessionHeader {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Text(session_header))
    }
}

fn session_header(text: &str) -> Result<SessionHeader, String> {
    let name = text.to_ascii_lowercase();
    if NEVER_A_SESSION.contains(&name.as_str()) {
        return Err(format!(
            "`{name}` is different on every request, so it names no session; leave it out"
        ));
    }
    match HeaderName::from_bytes(name.as_bytes()) {
        Ok(_) => Ok(SessionHeader(name)),
        Err(_) => Err(format!(
            "`{text}` is not a header name; use letters, digits and `-`"
        )),
    }
}

pub(crate) fn some_header<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    SessionHeader::deserialize(from).map(|name| Some(name.0))
}

pub(crate) fn body_key<'de, D: Deserializer<'de>>(from: D) -> Result<BodyKey, D::Error> {
    Ok(if bool::deserialize(from)? {
        BodyKey::Head
    } else {
        BodyKey::Off
    })
}

pub(crate) fn path<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    from.deserialize_str(Text(|text: &str| {
        let usable = text.starts_with('/') && text.parse::<hyper::Uri>().is_ok();
        let problem = || format!("`{text}` is not a path; begin it with `/`");
        usable.then(|| text.to_owned()).ok_or_else(problem)
    }))
}

pub(crate) fn some_path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    path(from).map(Some)
}

pub(crate) fn some_collector<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<String>, D::Error> {
    from.deserialize_str(Text(|text: &str| {
        let text = text.strip_suffix('/').unwrap_or(text);
        let uri = text.parse::<hyper::Uri>().ok();
        let usable = uri.is_some_and(|uri| {
            let known = matches!(uri.scheme_str(), Some("http" | "https"));
            known && uri.path() == "/" && uri.query().is_none()
        }) && WorkerUrl::parse(text).is_ok();
        let problem = || {
            format!("`{text}` is not a collector; write it as `http://host:4318` or `https://host:4318`, without a path")
        };
        usable.then(|| Some(text.to_owned())).ok_or_else(problem)
    }))
}

pub(crate) fn some_host<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    from.deserialize_str(Text(|text: &str| {
        let label = |label: &str| {
            let known = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            (1..=63).contains(&label.len()) && label.bytes().all(known)
        };
        let name = text.strip_suffix('.').unwrap_or(text);
        let usable = name.len() <= 253 && name.split('.').all(label);
        let problem = || format!("`{text}` is not a host name; write it as `engines.example`");
        usable
            .then(|| Some(text.to_ascii_lowercase()))
            .ok_or_else(problem)
    }))
}

pub(crate) fn some_service<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    from.deserialize_str(Text(|text: &str| {
        let part = |part: &str| {
            let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            (1..=63).contains(&part.len()) && part.bytes().all(known)
        };
        let parts = text.split_once('/');
        let usable = parts.is_some_and(|(namespace, name)| part(namespace) && part(name));
        let problem = || format!("`{text}` is not a service; write it as `namespace/name`");
        usable.then(|| Some(text.to_owned())).ok_or_else(problem)
    }))
}

pub(crate) fn some_port_name<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<String>, D::Error> {
    from.deserialize_str(Text(|text: &str| {
        let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let usable = (1..=63).contains(&text.len()) && text.bytes().all(known);
        let problem = || format!("`{text}` is not the name of a port; write it as `http`");
        usable.then(|| Some(text.to_owned())).ok_or_else(problem)
    }))
}

pub(crate) fn pool_name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    from.deserialize_str(Text(|text: &str| {
        let known = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        let usable = (1..=64).contains(&text.len()) && text.bytes().all(known);
        let problem = || {
            format!("`{text}` cannot name a pool; use 1 to 64 letters, digits, `-`, `_` and `.`")
        };
        usable.then(|| text.to_owned()).ok_or_else(problem)
    }))
}

pub(crate) fn default_discover_seconds() -> u64 {
    30
}

pub(crate) fn url<'de, D: Deserializer<'de>>(from: D) -> Result<WorkerUrl, D::Error> {
    from.deserialize_str(Text(WorkerUrl::parse))
}

pub(crate) fn worker_name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    from.deserialize_str(Text(|text: &str| {
        let usable = (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        let problem = || "a worker's name is 1 to 128 visible ASCII characters".to_owned();
        usable.then(|| Some(text.to_owned())).ok_or_else(problem)
    }))
}

pub(crate) fn share<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    from.deserialize_f64(Number(0.0..=1.0, "a share from 0 to 1"))
}

pub(crate) fn weight<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let hint = "a weight from 0.001 to 1000 (drain a worker to send it nothing)";
    from.deserialize_f64(Number(0.001..=1000.0, hint))
}

pub(crate) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    whole(from, 1..=100_000)
}

pub(crate) fn some_count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    count(from).map(Some)
}

pub(crate) fn tokens<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    whole(from, 1..=100_000_000)
}

pub(crate) fn order<'de, D: Deserializer<'de>>(from: D) -> Result<Order, D::Error> {
    from.deserialize_str(Text(|text: &str| {
        let known = Order::ALL.iter().find(|order| order.as_str() == text);
        known.copied().ok_or_else(|| {
            let names = Order::ALL.map(|order| format!("`{}`", order.as_str()));
            format!("`{text}` is not an order; use one of {}", names.join(", "))
        })
    }))
}

pub(crate) fn retries<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    whole(from, 0..=10)
}

pub(crate) fn replay_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    whole(from, 0..=64 << 20)
}

pub(crate) fn interval_ms<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    whole(from, 10..=600_000)
}

pub(crate) fn header_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    whole(from, 8_192..=16 << 20)
}

pub(crate) fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    whole(from, 1..=86_400)
}

pub(crate) fn some_seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    seconds(from).map(Some)
}

pub(crate) fn some_ms<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    interval_ms(from).map(Some)
}

pub(crate) fn body_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    whole(from, 1..=1 << 50).map(Some)
}

pub(crate) fn drain_seconds<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    whole(from, 0..=86_400)
}

pub(crate) fn ranks<'de, D: Deserializer<'de>>(from: D) -> Result<u16, D::Error> {
    whole(from, 1..=64)
}

pub(crate) fn one_rank() -> u16 {
    1
}

pub(crate) fn connections<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    whole(from, 1..=10_000_000)
}

fn whole<'de, D, N>(from: D, range: RangeInclusive<u64>) -> Result<N, D::Error>
where
    D: Deserializer<'de>,
    N: TryFrom<u64>,
{
    from.deserialize_u64(Whole(range, PhantomData))
}

// Values are refused inside of visitors: only there does the reader know the value's place.

/// Reads text and checks it.
struct Text<C>(C);

impl<T, C: FnOnce(&str) -> Result<T, String>> Visitor<'_> for Text<C> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }
}

/// Reads a number within a range that has a description.
struct Number(RangeInclusive<f64>, &'static str);

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        if self.0.contains(&number) {
            return Ok(number);
        }
        Err(E::custom(format!(
            "`{number}` is out of range; use {}",
            self.1
        )))
    }

    #[expect(clippy::cast_precision_loss, reason = "any that is in range is exact")]
    fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
        self.visit_f64(number as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "any that is in range is exact")]
    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        self.visit_f64(number as f64)
    }
}

/// Reads a whole number within a range.
struct Whole<N>(RangeInclusive<u64>, PhantomData<N>);

impl<N> Whole<N> {
    fn refuse<E: Error>(&self, number: impl fmt::Display) -> E {
        let (least, most) = (self.0.start(), self.0.end());
        E::custom(format!("`{number}` is out of range; use {least} to {most}"))
    }
}

impl<N: TryFrom<u64>> Visitor<'_> for Whole<N> {
    type Value = N;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a whole number from {} to {}",
            self.0.start(),
            self.0.end()
        )
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<N, E> {
        let checked = self.0.contains(&number).then(|| N::try_from(number).ok());
        checked.flatten().ok_or_else(|| self.refuse(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<N, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(self.refuse(number)),
        }
    }
}
