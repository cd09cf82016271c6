//! Holds the strict parser to `sfv`, an RFC 9651 parser that shares no code with it.
//!
//! Used by the property tests here and by the fuzz target in `tests/fuzz`.

use headwater_signature::{
    BlockSize, Fingerprint, MAX_HEADER_BYTES, ParseErrorKind, PrefixHash, Route, RouteEcho,
    RouteTag, Rung, Signature,
};
use sfv::{BareItem, Dictionary, FieldType as _, ListEntry, Parser};

/// Panics if the parser and `sfv` disagree about a header, or if what was read does not come back
/// the same from its own text.
pub(crate) fn check_signature(header: &[u8]) {
    let members = Parser::new(header).parse::<Dictionary>().ok();
    let shown = header.escape_ascii();
    match Signature::parse(header) {
        Ok(Some(signature)) => {
            let members = members.unwrap_or_else(|| panic!("sfv refuses `{shown}`"));
            assert_eq!(version(&members), Some(1), "{shown}");
            assert_eq!(meaning(&members), Some(signature), "{shown}");
            let text = signature.to_string();
            assert!(text.len() <= MAX_HEADER_BYTES, "{text}");
            assert_eq!(
                Signature::parse(text.as_bytes()),
                Ok(Some(signature)),
                "{text}"
            );
            let canonical = Parser::new(&text)
                .parse::<Dictionary>()
                .unwrap()
                .serialize();
            assert_eq!(canonical, Some(text), "sfv writes the value differently");
        }
        Ok(None) => {
            let members = members.unwrap_or_else(|| panic!("sfv refuses `{shown}`"));
            assert!(
                version(&members).is_some_and(|version| version != 1),
                "{shown}"
            );
        }
        Err(error) => {
            assert!(error.at <= header.len(), "{error} is outside of `{shown}`");
            let fine = members.is_some_and(|members| match version(&members) {
                Some(1) => meaning(&members).is_some(),
                version => version.is_some(),
            });
            let refused_by_us_alone = stricter_than_sfv(error.kind, header);
            assert!(
                !fine || refused_by_us_alone,
                "sfv sees nothing wrong in `{shown}`: {error}"
            );
        }
    }
}

/// The same for a `Prefix-Route`.
pub(crate) fn check_route(header: &[u8]) {
    let members = Parser::new(header).parse::<Dictionary>().ok();
    let shown = header.escape_ascii();
    match Route::parse(header) {
        Ok(route) => {
            let members = members.unwrap_or_else(|| panic!("sfv refuses `{shown}`"));
            assert!(route_matches(&members, &route), "{route:?} in `{shown}`");
            assert_eq!(
                Route::parse(route.to_string().as_bytes()),
                Ok(route),
                "{route}"
            );
        }
        Err(error) => {
            assert!(error.at <= header.len(), "{error} is outside of `{shown}`");
            let fine = members.is_some_and(|members| route_is_fine(&members));
            let refused_by_us_alone = stricter_than_sfv(error.kind, header);
            assert!(
                !fine || refused_by_us_alone,
                "sfv sees nothing wrong in `{shown}`: {error}"
            );
        }
    }
}

/// The documented reasons for which we refuse what RFC 9651 lets pass: size, keys that come twice
/// or too often, and base64 that is not canonical.
fn stricter_than_sfv(kind: ParseErrorKind, header: &[u8]) -> bool {
    match kind {
        ParseErrorKind::TooLong => header.len() > MAX_HEADER_BYTES,
        ParseErrorKind::DuplicateKey | ParseErrorKind::TooManyKeys | ParseErrorKind::WrongBytes => {
            true
        }
        _ => false,
    }
}

fn version(members: &Dictionary) -> Option<i64> {
    integer(members, "v")
}

/// The signature in a dictionary of version 1, if there is one.
fn meaning(members: &Dictionary) -> Option<Signature> {
    let block = BlockSize::new(number(members, "b")?)?;
    let echo = match (members.get("w"), members.get("wn")) {
        (None, None) => None,
        (Some(_), Some(_)) => Some(RouteEcho {
            tag: RouteTag::from_bytes(bytes(item(members, "w")?)?),
            tokens: number(members, "wn")?,
        }),
        _ => return None,
    };
    let fingerprint = Fingerprint::from_bytes(bytes(item(members, "fp")?)?);
    Signature::new(
        block,
        number(members, "n")?,
        fingerprint,
        &rungs(members)?,
        echo,
    )
    .ok()
}

fn rungs(members: &Dictionary) -> Option<Vec<Rung>> {
    let ListEntry::InnerList(list) = members.get("r")? else {
        return None;
    };
    list.items
        .iter()
        .map(|rung| {
            Some(Rung {
                blocks: u32::try_from(i64::from(rung.bare_item.as_integer()?)).ok()?,
                hash: PrefixHash::from_bytes(bytes(rung.params.get("h")?)?),
            })
        })
        .collect()
}

fn route_matches(members: &Dictionary, route: &Route<'_>) -> bool {
    item(members, "w").and_then(bytes) == Some(*route.worker.as_bytes())
        && number(members, "matched") == Some(route.matched_tokens)
        && item(members, "reason")
            .and_then(BareItem::as_token)
            .is_some_and(|token| token.as_str() == route.reason)
}

fn route_is_fine(members: &Dictionary) -> bool {
    item(members, "w").and_then(bytes::<4>).is_some()
        && number(members, "matched").is_some()
        && item(members, "reason")
            .and_then(BareItem::as_token)
            .is_some()
}

fn item<'a>(members: &'a Dictionary, key: &str) -> Option<&'a BareItem> {
    match members.get(key)? {
        ListEntry::Item(item) => Some(&item.bare_item),
        ListEntry::InnerList(_) => None,
    }
}

fn integer(members: &Dictionary, key: &str) -> Option<i64> {
    item(members, key)?.as_integer().map(i64::from)
}

fn number(members: &Dictionary, key: &str) -> Option<u32> {
    integer(members, key).and_then(|value| u32::try_from(value).ok())
}

fn bytes<const N: usize>(item: &BareItem) -> Option<[u8; N]> {
    item.as_byte_sequence()?.try_into().ok()
}
