//! The crate against the vectors that the reference implementation wrote.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

use std::num::NonZeroU32;

use headwater_signature::{
    AffinityKey, BlockSize, Fingerprint, ParseError, PrefixHash, Route, RouteEcho, RouteTag, Rung,
    Scheme, Signature,
};
use serde_json::Value;

const VECTORS: &str = include_str!("../../../tests/vectors/signature.json");

#[test]
fn the_reference_and_the_hash_crate_agree_on_blake3() {
    for vector in vectors("blake3") {
        let length = vector["length"].as_u64().unwrap();
        let message: Vec<u8> = (0..length)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect();
        assert_eq!(
            blake3::hash(&message).to_hex().as_str(),
            text(&vector["hash"]),
            "{length}"
        );
        let derived = blake3::Hash::from(blake3::derive_key("vectors", &message));
        assert_eq!(
            derived.to_hex().as_str(),
            text(&vector["derived"]),
            "{length}"
        );
    }
}

#[test]
fn chains_and_fingerprints() {
    for vector in vectors("chains") {
        let salt = salt(&vector["scheme"]);
        let seed = scheme(&vector["scheme"], salt.as_deref()).seed();
        assert_eq!(
            seed.fingerprint().to_string(),
            text(&vector["fingerprint"]),
            "{vector}"
        );
        let tokens: Vec<u32> = list(&vector["tokens"]).iter().map(number).collect();
        let mut chain = seed.chain();
        chain.extend(&tokens);
        let expected: Vec<PrefixHash> = list(&vector["hashes"])
            .iter()
            .map(|hash| text(hash).parse().unwrap())
            .collect();
        assert_eq!(chain.hashes(), expected, "{vector}");
    }
}

#[test]
fn affinity_keys() {
    for vector in vectors("affinity_keys") {
        let salt = salt(&vector["scheme"]);
        let seed = scheme(&vector["scheme"], salt.as_deref()).seed();
        let static_prefix: PrefixHash = text(&vector["static"]).parse().unwrap();
        let by_session = AffinityKey::session(&seed, text(&vector["session"]));
        let ways = NonZeroU32::new(number(&vector["ways"])).unwrap();
        let by_spread = AffinityKey::spread(static_prefix, by_session, ways);
        assert_eq!(
            by_session.to_string(),
            text(&vector["by_session"]),
            "{vector}"
        );
        assert_eq!(
            AffinityKey::prefix(static_prefix).to_string(),
            text(&vector["by_prefix"]),
            "{vector}"
        );
        assert_eq!(
            by_spread.to_string(),
            text(&vector["by_spread"]),
            "{vector}"
        );
    }
}

#[test]
fn route_tags() {
    for vector in vectors("route_tags") {
        let generation = text(&vector["generation"]).parse().unwrap();
        let tag = RouteTag::of(text(&vector["worker"]), generation);
        assert_eq!(tag.to_string(), text(&vector["tag"]), "{vector}");
    }
}

#[test]
fn signatures() {
    for vector in vectors("signatures") {
        let read = Signature::parse(&header(&vector));
        match (&vector["signature"], &vector["error"]) {
            (Value::Null, Value::Null) => assert_eq!(read, Ok(None), "{vector}"),
            (Value::Null, error) => assert_error(read.map(|_| ()), error, &vector),
            (value, _) => {
                assert_eq!(read, Ok(Some(signature(value))), "{vector}");
                assert_eq!(
                    signature(value).to_string(),
                    text(&vector["canonical"]),
                    "{vector}"
                );
            }
        }
    }
}

#[test]
fn routes() {
    for vector in vectors("routes") {
        let header = header(&vector);
        let read = Route::parse(&header);
        match &vector["error"] {
            Value::Null => {
                assert_eq!(read, Ok(route(&vector["route"])), "{vector}");
                assert_eq!(
                    route(&vector["route"]).to_string(),
                    text(&vector["canonical"]),
                    "{vector}"
                );
            }
            error => assert_error(read.map(|_| ()), error, &vector),
        }
    }
}

#[test]
fn route_texts() {
    for vector in vectors("route_texts") {
        assert_eq!(
            route(&vector).to_string(),
            text(&vector["canonical"]),
            "{vector}"
        );
    }
}

/// All vectors of one kind; that there is none would be a mistake.
fn vectors(kind: &str) -> Vec<Value> {
    let mut file: Value = serde_json::from_str(VECTORS).unwrap();
    let vectors = list(&file[kind].take()).clone();
    assert!(!vectors.is_empty(), "no vectors under `{kind}`");
    vectors
}

fn assert_error(read: Result<(), ParseError>, expected: &Value, vector: &Value) {
    let error = read.expect_err(&vector.to_string());
    let found = (error.at as u64, error.kind.as_str());
    assert_eq!(
        found,
        (expected["at"].as_u64().unwrap(), text(&expected["kind"])),
        "{vector}"
    );
}

fn header(vector: &Value) -> Vec<u8> {
    text(&vector["text"])
        .chars()
        .map(|letter| u8::try_from(letter).unwrap())
        .collect()
}

fn signature(value: &Value) -> Signature {
    let rungs: Vec<Rung> = list(&value["rungs"])
        .iter()
        .map(|rung| Rung {
            blocks: number(&rung["blocks"]),
            hash: text(&rung["hash"]).parse().unwrap(),
        })
        .collect();
    let echo = value["echo"].as_object().map(|echo| RouteEcho {
        tag: text(&echo["tag"]).parse().unwrap(),
        tokens: number(&echo["tokens"]),
    });
    let fingerprint: Fingerprint = text(&value["fingerprint"]).parse().unwrap();
    Signature::new(
        block(value),
        number(&value["tokens"]),
        fingerprint,
        &rungs,
        echo,
    )
    .unwrap()
}

fn route(value: &Value) -> Route<'_> {
    Route {
        worker: text(&value["worker"]).parse().unwrap(),
        matched_tokens: number(&value["matched_tokens"]),
        reason: text(&value["reason"]),
    }
}

fn scheme<'a>(value: &'a Value, salt: Option<&'a [u8]>) -> Scheme<'a> {
    Scheme {
        tokenizer: text(&value["tokenizer"]),
        template: text(&value["template"]),
        cleaning: text(&value["cleaning"]),
        block: block(value),
        add_special_tokens: value["add_special_tokens"].as_bool().unwrap(),
        model: text(&value["model"]),
        salt,
    }
}

fn salt(scheme: &Value) -> Option<Vec<u8>> {
    let digits = scheme["salt"].as_str()?;
    let pairs = (0..digits.len()).step_by(2);
    Some(
        pairs
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
            .collect(),
    )
}

fn block(value: &Value) -> BlockSize {
    BlockSize::new(number(&value["block"])).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}
