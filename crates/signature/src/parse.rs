//! Header text → signature: strict, in one pass, without allocation.

use crate::dictionary::{Dictionary, Meaning, Member, name_of};
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
        while let Some(member) = members.next_member()? {
            draft.take(&mut members, member)?;
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
    version: Option<Meaning<(usize, i64)>>,
    block: Option<BlockSize>,
    tokens: Option<u32>,
    fingerprint: Option<Fingerprint>,
    rungs: Option<Rungs>,
    worker: Option<(usize, RouteTag)>,
    worker_tokens: Option<(usize, u32)>,
    refusal: Option<ParseError>,
}

impl Draft {
    fn take<'a>(
        &mut self,
        members: &mut Dictionary<'a>,
        member: Member<'a>,
    ) -> Result<(), ParseError> {
        match member.key {
            b"v" => self.version = Some(members.integer(member)?),
            b"b" => {
                let block = members.integer(member)?.and_then(block_size);
                self.block = self.keep(block);
            }
            b"n" => {
                let tokens = members.number(member)?;
                self.tokens = self.keep(tokens).map(|(_, tokens)| tokens);
            }
            b"fp" => {
                let bytes = members.name(member)?;
                self.fingerprint = self
                    .keep(bytes)
                    .map(|(_, bytes)| Fingerprint::from_bytes(bytes));
            }
            b"r" => {
                let rungs = Rungs::read(members, member)?;
                self.rungs = self.keep(rungs);
            }
            b"w" => {
                let bytes = members.name(member)?;
                self.worker = self
                    .keep(bytes)
                    .map(|(at, bytes)| (at, RouteTag::from_bytes(bytes)));
            }
            b"wn" => {
                let tokens = members.number(member)?;
                self.worker_tokens = self.keep(tokens);
            }
            _ => members.ignore(member)?,
        }
        Ok(())
    }

    /// The value if it means something; the first that does not is remembered.
    fn keep<T>(&mut self, meaning: Meaning<T>) -> Option<T> {
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
        let rungs = self.rungs.ok_or(missing)?;
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

impl Rungs {
    fn read<'a>(
        members: &mut Dictionary<'a>,
        member: Member<'a>,
    ) -> Result<Meaning<Self>, ParseError> {
        if let Err(refusal) = members.enter_list(member)? {
            return Ok(Err(refusal));
        }
        let mut rungs = Self {
            kept: [UNUSED; MAX_RUNGS],
            count: 0,
            deepest: 0,
            deepest_at: 0,
        };
        let mut refusal = None;
        while let Some((at, item)) = members.next_item()? {
            let blocks = rungs.blocks(at, item);
            let hash = read_hash(members, at)?;
            match blocks.and_then(|blocks| hash.map(|hash| Rung { blocks, hash })) {
                Ok(rung) => rungs.push(at, rung),
                Err(error) => _ = refusal.get_or_insert(error),
            }
        }
        Ok(refusal.map_or(Ok(rungs), Err))
    }

    /// A rung's block count, if a rung may stand here and this one is deeper than the last.
    fn blocks(&self, at: usize, item: BareItem<'_>) -> Meaning<u32> {
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
fn read_hash(
    members: &mut Dictionary<'_>,
    rung_at: usize,
) -> Result<Meaning<PrefixHash>, ParseError> {
    let mut hash = None;
    while let Some(parameter) = members.next_parameter()? {
        if parameter.key == b"h" {
            let duplicate = ParseError {
                at: parameter.key_at,
                kind: ParseErrorKind::DuplicateKey,
            };
            hash = Some(match hash {
                None => name_of(parameter.value_at, Some(parameter.value)),
                Some(Err(first)) => Err(first),
                Some(Ok(_)) => Err(duplicate),
            });
        }
    }
    let missing = ParseError {
        at: rung_at,
        kind: ParseErrorKind::MissingKey,
    };
    Ok(hash
        .unwrap_or(Err(missing))
        .map(|(_, bytes)| PrefixHash::from_bytes(bytes)))
}

fn block_size((at, value): (usize, i64)) -> Meaning<BlockSize> {
    u32::try_from(value)
        .ok()
        .and_then(BlockSize::new)
        .ok_or(ParseError {
            at,
            kind: ParseErrorKind::OutOfRange,
        })
}
