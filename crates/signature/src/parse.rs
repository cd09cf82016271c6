//! Header text → signature: strict, in one pass, without allocation.

use crate::dictionary::{Dictionary, Key, Meaning};
use crate::item::BareItem;
use crate::signature::{UNUSED, fits};
use crate::{
    BlockSize, Fingerprint, MAX_RUNGS, ParseError, ParseErrorKind, PrefixHash, RouteEcho, RouteTag,
    Rung, Signature, VERSION,
};

impl Signature {
    /// Reads the header's value.
    ///
    /// `Ok(None)` is a well-formed header of a version that this crate does not know: to be
    /// treated as absent. Unknown keys and parameters are ignored.
    ///
    /// # Errors
    /// Refuses the header as a whole with the first thing that is wrong: what breaks any
    /// version (size, syntax, keys) before what breaks this one.
    pub fn parse(header: &[u8]) -> Result<Option<Self>, ParseError> {
        let mut members = Dictionary::new(header)?;
        let mut draft = Draft::default();
        while let Some(key) = members.next_member()? {
            draft.take(&mut members, key)?;
        }
        let missing = ParseError {
            at: header.len(),
            kind: ParseErrorKind::MissingKey,
        };
        let (_, version) = draft.version.ok_or(missing)??;
        if version != i64::from(VERSION) {
            return Ok(None);
        }
        draft.finish(missing).map(Some)
    }
}

/// What has been read so far. A value of the wrong type or range does not stop the reading: the
/// header may yet turn out to be of another version, in which it is right.
#[derive(Default)]
struct Draft {
    version: Option<Meaning<i64>>,
    block: Option<BlockSize>,
    tokens: Option<u32>,
    fingerprint: Option<Fingerprint>,
    ladder: Option<()>,
    rungs: Rungs,
    worker: Option<(usize, RouteTag)>,
    worker_tokens: Option<(usize, u32)>,
    refusal: Option<ParseError>,
}

impl Draft {
    #[inline]
    fn take<'a>(&mut self, members: &mut Dictionary<'a>, key: Key<'a>) -> Result<(), ParseError> {
        match key.text {
            b"v" => self.version = Some(members.integer(key)?),
            b"b" => {
                let block = members.integer(key)?.and_then(block_size);
                self.block = self.keep(block).map(|(_, block)| block);
            }
            b"n" => {
                let tokens = members.number(key)?;
                self.tokens = self.keep(tokens).map(|(_, tokens)| tokens);
            }
            b"fp" => {
                let name = members.name(key)?;
                self.fingerprint = self
                    .keep(name)
                    .map(|(_, name)| Fingerprint::from_bytes(name));
            }
            b"r" => {
                let ladder = self.rungs.read(members, key)?;
                self.ladder = self.keep(ladder).map(|_| ());
            }
            b"w" => {
                let name = members.name(key)?;
                self.worker = self
                    .keep(name)
                    .map(|(at, name)| (at, RouteTag::from_bytes(name)));
            }
            b"wn" => {
                let tokens = members.number(key)?;
                self.worker_tokens = self.keep(tokens);
            }
            _ => members.ignore(key)?,
        }
        Ok(())
    }

    /// The value if it means something; the first that does not is remembered.
    fn keep<T>(&mut self, meaning: Meaning<T>) -> Option<(usize, T)> {
        meaning
            .map_err(|refusal| *self.refusal.get_or_insert(refusal))
            .ok()
    }

    fn finish(self, missing: ParseError) -> Result<Signature, ParseError> {
        if let Some(refusal) = self.refusal {
            return Err(refusal);
        }
        let block = self.block.ok_or(missing)?;
        let tokens = self.tokens.ok_or(missing)?;
        let fingerprint = self.fingerprint.ok_or(missing)?;
        self.ladder.ok_or(missing)?;
        let rungs = self.rungs;
        if !fits(rungs.deepest, block, tokens) {
            return Err(ParseError {
                at: rungs.deepest_at,
                kind: ParseErrorKind::RungBeyondPrompt,
            });
        }
        let echo = match (self.worker, self.worker_tokens) {
            (None, None) => None,
            (Some((_, tag)), Some((_, tokens))) => Some(RouteEcho { tag, tokens }),
            (Some((at, _)), None) | (None, Some((at, _))) => {
                return Err(ParseError {
                    at,
                    kind: ParseErrorKind::HalfEcho,
                });
            }
        };
        Ok(Signature {
            block,
            tokens,
            fingerprint,
            rungs: rungs.kept,
            rung_count: rungs.count,
            echo,
        })
    }
}

/// The rungs read so far, rising.
struct Rungs {
    kept: [Rung; MAX_RUNGS],
    count: usize,
    deepest: u32,
    deepest_at: usize,
}

impl Default for Rungs {
    fn default() -> Self {
        Self {
            kept: [UNUSED; MAX_RUNGS],
            count: 0,
            deepest: 0,
            deepest_at: 0,
        }
    }
}

impl Rungs {
    /// Reads the list; the first rung that means nothing is what the list means.
    fn read<'a>(
        &mut self,
        members: &mut Dictionary<'a>,
        key: Key<'a>,
    ) -> Result<Meaning<()>, ParseError> {
        let mut list = members.enter_list(key)?;
        if list.is_err() {
            return Ok(list);
        }
        while let Some((at, item)) = members.next_item()? {
            let blocks = self.blocks(at, item);
            let hash = read_hash(members, at)?;
            match blocks.and_then(|blocks| hash.map(|hash| Rung { blocks, hash })) {
                Ok(rung) => self.push(at, rung),
                Err(refusal) => list = list.and(Err(refusal)),
            }
        }
        Ok(list)
    }

    /// A rung's block count, if a rung may stand here and this one is deeper than the last.
    #[inline]
    fn blocks(&self, at: usize, item: BareItem<'_>) -> Result<u32, ParseError> {
        let refuse = |kind| Err(ParseError { at, kind });
        if self.count == MAX_RUNGS {
            return refuse(ParseErrorKind::TooManyRungs);
        }
        let BareItem::Integer(value) = item else {
            return refuse(ParseErrorKind::WrongType);
        };
        match u32::try_from(value) {
            Err(_) | Ok(0) => refuse(ParseErrorKind::OutOfRange),
            Ok(blocks) if blocks <= self.deepest => refuse(ParseErrorKind::RungOrder),
            Ok(blocks) => Ok(blocks),
        }
    }

    #[inline]
    fn push(&mut self, at: usize, rung: Rung) {
        if let Some(slot) = self.kept.get_mut(self.count) {
            *slot = rung;
            self.count += 1;
            self.deepest = rung.blocks;
            self.deepest_at = at;
        }
    }
}

/// Reads the parameters of the rung at `rung_at`, of which one is its hash.
#[inline]
fn read_hash(
    members: &mut Dictionary<'_>,
    rung_at: usize,
) -> Result<Result<PrefixHash, ParseError>, ParseError> {
    if let Some(bytes) = members.plain_name(b";h=") {
        return Ok(Ok(PrefixHash::from_bytes(bytes)));
    }
    let mut hash: Option<PrefixHash> = None;
    let mut refusal: Option<ParseError> = None;
    let mut seen = 0;
    while let Some(parameter) = members.next_parameter()? {
        if parameter.text != b"h" {
            members.ignore(parameter)?;
            continue;
        }
        seen += 1;
        let name = members.name(parameter)?;
        match (seen, name) {
            (1, Ok((_, bytes))) => hash = Some(PrefixHash::from_bytes(bytes)),
            (1, Err(error)) => refusal = Some(error),
            // Two are one too many, whatever they are.
            (2, _) => {
                let kind = ParseErrorKind::DuplicateKey;
                refusal = Some(ParseError {
                    at: parameter.at,
                    kind,
                });
            }
            _ => {}
        }
    }
    let missing = ParseError {
        at: rung_at,
        kind: ParseErrorKind::MissingKey,
    };
    Ok(refusal.map_or(hash.ok_or(missing), Err))
}

fn block_size((at, value): (usize, i64)) -> Meaning<BlockSize> {
    let block = u32::try_from(value).ok().and_then(BlockSize::new);
    block.map(|block| (at, block)).ok_or(ParseError {
        at,
        kind: ParseErrorKind::OutOfRange,
    })
}
