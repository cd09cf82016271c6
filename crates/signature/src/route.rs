//! `Prefix-Route`: which worker answered, under a name that only routers can resolve.

use std::fmt::{self, Write};

use crate::dictionary::Dictionary;
use crate::item::{is_token_letter, is_token_start};
use crate::{ParseError, ParseErrorKind, RouteTag, base64, scheme::derive};

const TAG_CONTEXT: &str = "headwater prefix route v1 tag";

impl RouteTag {
    /// The tag of a worker in one of its lives. Every router that knows the worker under this
    /// name computes the same; a restart, which empties the cache, makes a new one.
    pub fn of(worker_name: &str, generation: u64) -> Self {
        let length = (worker_name.len() as u64).to_le_bytes();
        let generation = generation.to_le_bytes();
        Self::from_bytes(derive(
            TAG_CONTEXT,
            &[&length, worker_name.as_bytes(), &generation],
        ))
    }
}

/// What a conversation brings back of its last answer, as a browser returns a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the wire format has these two and callers build it"
)]
pub struct RouteEcho {
    /// The tag that came in `Prefix-Route` (`w`).
    pub tag: RouteTag,
    /// The prompt tokens of the request that it answered (`wn`).
    pub tokens: u32,
}

/// The value of the response header `Prefix-Route`.
///
/// `Display` gives the header text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the wire format has these three and callers build it"
)]
pub struct Route<'a> {
    /// The worker that answered, in its present life.
    pub worker: RouteTag,
    /// Prompt tokens that the router believed the worker to hold.
    pub matched_tokens: u32,
    /// Why this worker. An RFC 9651 token; in any other text `Display` replaces what a token
    /// cannot have, so that nothing can be smuggled into a response.
    pub reason: &'a str,
}

impl<'a> Route<'a> {
    /// Reads the header's value.
    ///
    /// # Errors
    /// The same strictness as for a signature: the first thing wrong, with its byte.
    pub fn parse(header: &'a [u8]) -> Result<Self, ParseError> {
        let mut members = Dictionary::new(header)?;
        let (mut worker, mut matched, mut reason) = (None, None, None);
        while let Some(key) = members.next_member()? {
            match key.text {
                b"w" => worker = Some(members.name(key)?),
                b"matched" => matched = Some(members.number(key)?),
                b"reason" => reason = Some(members.token(key)?),
                _ => members.ignore(key)?,
            }
        }
        let missing = ParseError {
            at: header.len(),
            kind: ParseErrorKind::MissingKey,
        };
        Ok(Self {
            worker: RouteTag::from_bytes(worker.ok_or(missing)??.1),
            matched_tokens: matched.ok_or(missing)??.1,
            reason: reason.ok_or(missing)??.1,
        })
    }
}

impl Route<'_> {
    /// The header's text, as `Display` gives it, at a fraction of the cost: a router writes one
    /// into every answer.
    #[must_use]
    pub fn header(&self) -> String {
        let mut text = String::with_capacity(64);
        // Writing to a string cannot fail.
        let _written = self.write(&mut text);
        text
    }

    fn write(&self, f: &mut impl Write) -> fmt::Result {
        f.write_str("w=:")?;
        base64::write_standard(f, self.worker.as_bytes())?;
        f.write_str(":, matched=")?;
        write!(f, "{}", self.matched_tokens)?;
        f.write_str(", reason=")?;
        write_token(f, self.reason)
    }
}

impl fmt::Display for Route<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

fn write_token(f: &mut impl Write, text: &str) -> fmt::Result {
    let bytes = text.as_bytes();
    let starts = bytes.first().is_some_and(|first| is_token_start(*first));
    if starts && bytes.iter().all(|letter| is_token_letter(*letter)) {
        return f.write_str(text);
    }
    let mut letters = text.chars();
    let fits = |letter: char, set: fn(u8) -> bool| u8::try_from(letter).is_ok_and(set);
    f.write_char(
        letters
            .next()
            .filter(|first| fits(*first, is_token_start))
            .unwrap_or('*'),
    )?;
    letters.try_for_each(|letter| {
        f.write_char(if fits(letter, is_token_letter) {
            letter
        } else {
            '_'
        })
    })
}
