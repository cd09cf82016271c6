//! Checked values of the configuration: each reader refuses what is out of range, at its place.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use headwater_placement::Policy;
use hyper::header::HeaderName;
use serde::de::{Deserialize, Deserializer, Error};

use crate::config::BodyKey;

pub(crate) fn address<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(|_| {
        D::Error::custom(format!(
            "`{text}` is not an address; write an IP address and a port, such as `127.0.0.1:8080`"
        ))
    })
}

pub(crate) fn some_address<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<SocketAddr>, D::Error> {
    address(from).map(Some)
}

pub(crate) fn policy<'de, D: Deserializer<'de>>(from: D) -> Result<Policy, D::Error> {
    let text = String::deserialize(from)?;
    policy_of(&text).map_err(D::Error::custom)
}

/// The policy of this name.
pub(crate) fn policy_of(text: &str) -> Result<Policy, String> {
    let known = Policy::ALL.iter().find(|policy| policy.as_str() == text);
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
    let names = Vec::<String>::deserialize(from)?;
    let checked = names.into_iter().map(|name| {
        let name = name.to_ascii_lowercase();
        if NEVER_A_SESSION.contains(&name.as_str()) {
            return Err(format!(
                "`{name}` is different on every request, so it names no session; leave it out"
            ));
        }
        match HeaderName::from_bytes(name.as_bytes()) {
            Ok(_) => Ok(name),
            Err(_) => Err(format!(
                "`{name}` is not a header name; use letters, digits and `-`"
            )),
        }
    });
    checked.collect::<Result<_, _>>().map_err(D::Error::custom)
}

pub(crate) fn body_key<'de, D: Deserializer<'de>>(from: D) -> Result<BodyKey, D::Error> {
    Ok(if bool::deserialize(from)? {
        BodyKey::Head
    } else {
        BodyKey::Off
    })
}

pub(crate) fn path<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let usable = text.starts_with('/') && text.parse::<hyper::Uri>().is_ok();
    if usable {
        Ok(text)
    } else {
        Err(D::Error::custom(format!(
            "`{text}` is not a path; begin it with `/`"
        )))
    }
}

pub(crate) fn share<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    if (0.0..=1.0).contains(&number) {
        Ok(number)
    } else {
        Err(D::Error::custom(format!(
            "`{number}` is out of range; use a share from 0 to 1"
        )))
    }
}

pub(crate) fn weight<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    if (0.001..=1000.0).contains(&number) {
        Ok(number)
    } else {
        Err(D::Error::custom(format!(
            "`{number}` is out of range; use a weight from 0.001 to 1000 (drain a worker to send it nothing)"
        )))
    }
}

pub(crate) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    whole(from, 1..=100_000)
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

pub(crate) fn drain_seconds<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    whole(from, 0..=86_400)
}

pub(crate) fn connections<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    whole(from, 1..=10_000_000)
}

fn whole<'de, D, N>(from: D, range: RangeInclusive<u64>) -> Result<N, D::Error>
where
    D: Deserializer<'de>,
    N: TryFrom<u64>,
{
    let number = u64::deserialize(from)?;
    let checked = range.contains(&number).then(|| N::try_from(number).ok());
    checked.flatten().ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        D::Error::custom(format!("`{number}` is out of range; use {least} to {most}"))
    })
}
