//! What a request is placed by: its signature, a session header, its affinity, or its body.

use headwater_placement::{KeySource, Request, WorkerId};
use headwater_signature::{HEADER_AFFINITY, HEADER_SIGNATURE, Signature};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use crate::counters::Counters;

const SIGNATURE: HeaderName = HeaderName::from_static(HEADER_SIGNATURE);
const AFFINITY: HeaderName = HeaderName::from_static(HEADER_AFFINITY);

/// Bytes of a body that make a key.
pub(crate) const BODY_KEY_BYTES: usize = 2_048;

/// Longer values of a session or affinity header are no ids.
const LONGEST_ID: usize = 512;

/// The names by which a request may find its worker. Header values go no further than here.
pub(crate) struct Key {
    signature: Option<Signature>,
    affinity: Option<u64>,
    source: KeySource,
    /// Length of the body, if the client told it.
    pub(crate) body_bytes: Option<u64>,
}

impl Key {
    /// Reads the headers. A signature that cannot be used is counted and ignored.
    pub(crate) fn of_headers(
        headers: &HeaderMap,
        sessions: &[HeaderName],
        counters: &Counters,
    ) -> Self {
        let signature = signature(headers, counters);
        let affinity = single(headers, &AFFINITY);
        if let Some(signature) = signature {
            return Self {
                signature: Some(signature),
                affinity: affinity.map(|value| hash(value.as_bytes())),
                source: KeySource::Signature,
                body_bytes: None,
            };
        }
        let session = sessions.iter().find_map(|name| single(headers, name));
        let (value, source) = match (session, affinity) {
            (Some(session), _) => (Some(session), KeySource::Session),
            (None, Some(affinity)) => (Some(affinity), KeySource::Affinity),
            (None, None) => (None, KeySource::None),
        };
        Self {
            signature: None,
            affinity: value.map(|value| hash(value.as_bytes())),
            source,
            body_bytes: None,
        }
    }

    /// Whether only the body can say where the request belongs.
    pub(crate) fn is_missing(&self) -> bool {
        self.source == KeySource::None
    }

    /// Takes the first bytes of the body, which are not looked into.
    pub(crate) fn set_body(&mut self, head: &[u8]) {
        if !head.is_empty() {
            self.affinity = Some(hash(head.get(..BODY_KEY_BYTES).unwrap_or(head)));
            self.source = KeySource::Body;
        }
    }

    pub(crate) fn source(&self) -> KeySource {
        self.source
    }

    /// The request as placement sees it.
    pub(crate) fn request<'a>(&'a self, tried: &'a [WorkerId]) -> Request<'a> {
        Request {
            signature: self.signature.as_ref(),
            affinity: self.affinity,
            key_source: self.source,
            body_bytes: self.body_bytes,
            excluded: tried,
        }
    }
}

fn signature(headers: &HeaderMap, counters: &Counters) -> Option<Signature> {
    let mut values = headers.get_all(&SIGNATURE).iter();
    let first = values.next()?;
    if values.next().is_some() {
        counters.signature_errors.add("duplicate_header");
        return None;
    }
    match Signature::parse(first.as_bytes()) {
        Ok(Some(signature)) => {
            counters.signatures.add(1);
            Some(signature)
        }
        Ok(None) => {
            counters.signature_errors.add("unknown_version");
            None
        }
        Err(error) => {
            counters.signature_errors.add(error.kind.as_str());
            None
        }
    }
}

/// The value of a header that stands once and could be an id.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let value = values
        .next()
        .filter(|value| (1..=LONGEST_ID).contains(&value.len()))?;
    values.next().is_none().then_some(value)
}

/// Equal in every router, unlike the hash of a standard map.
fn hash(bytes: &[u8]) -> u64 {
    let digest = blake3::hash(bytes);
    let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNED: &str = "v=1, b=16, n=48, fp=:q83vASNFZ4k=:, r=(2;h=:q83vASNFZ4k=:)";

    fn check(
        headers: &[(&'static str, &'static str)],
        source: KeySource,
        key: Option<&str>,
        errors: &[&str],
    ) {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        let headers: HeaderMap = headers.iter().map(pair).collect();
        let counters = Counters::default();
        let sessions = [
            HeaderName::from_static("x-session-id"),
            HeaderName::from_static("x-other"),
        ];
        let found = Key::of_headers(&headers, &sessions, &counters);
        assert_eq!(found.source(), source);
        assert_eq!(found.affinity, key.map(|key| hash(key.as_bytes())));
        let counted: Vec<&str> = counters.signature_errors.all().into_keys().collect();
        assert_eq!(counted, errors);
    }

    #[test]
    fn the_best_name_there_is_makes_the_key() {
        check(&[], KeySource::None, None, &[]);
        check(
            &[("prefix-affinity", "a")],
            KeySource::Affinity,
            Some("a"),
            &[],
        );
        check(
            &[("prefix-affinity", "a"), ("x-session-id", "s")],
            KeySource::Session,
            Some("s"),
            &[],
        );
        check(
            &[("x-other", "o"), ("x-session-id", "s")],
            KeySource::Session,
            Some("s"),
            &[],
        );
        check(
            &[("x-session-id", ""), ("x-other", "o")],
            KeySource::Session,
            Some("o"),
            &[],
        );
        check(
            &[("x-session-id", "1"), ("x-session-id", "2")],
            KeySource::None,
            None,
            &[],
        );
        check(
            &[
                ("prefix-signature", SIGNED),
                ("prefix-affinity", "a"),
                ("x-session-id", "s"),
            ],
            KeySource::Signature,
            Some("a"),
            &[],
        );
        check(
            &[("prefix-signature", SIGNED)],
            KeySource::Signature,
            None,
            &[],
        );
    }

    #[test]
    fn a_signature_that_cannot_be_used_is_counted_and_ignored() {
        check(
            &[("prefix-signature", "v=1, b="), ("x-session-id", "s")],
            KeySource::Session,
            Some("s"),
            &["syntax"],
        );
        check(
            &[("prefix-signature", SIGNED), ("prefix-signature", SIGNED)],
            KeySource::None,
            None,
            &["duplicate_header"],
        );
        check(
            &[("prefix-signature", "v=9")],
            KeySource::None,
            None,
            &["unknown_version"],
        );
    }

    #[test]
    fn only_the_head_of_a_body_counts() {
        let of = |body: &[u8]| {
            let mut key = Key::of_headers(&HeaderMap::new(), &[], &Counters::default());
            key.set_body(body);
            key.affinity
        };
        let mut long = vec![7; BODY_KEY_BYTES];
        let head = of(&long);
        long.extend(b"the last turn");
        assert_eq!(of(&long), head);
        assert_ne!(of(&long[1..]), head);
        assert_eq!(of(b""), None);
    }
}
