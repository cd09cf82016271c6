//! The value of the `Prefix-Signature` header.

use std::fmt;

use crate::{BlockSize, Fingerprint, PrefixHash, RouteEcho, SignatureError, base64};

/// The version of the wire format that this crate writes and reads.
pub const VERSION: u32 = 1;
/// A longer header is refused without being read.
pub const MAX_HEADER_BYTES: usize = 1024;
/// A header with more rungs is refused.
pub const MAX_RUNGS: usize = 16;
/// What a sender should not exceed: beyond it more rungs find next to nothing more.
pub const MAX_EMITTED_RUNGS: usize = 12;

/// One named prefix of the prompt: so many whole blocks from the start, and their hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the wire format has these two and callers build it"
)]
pub struct Rung {
    /// Length of the prefix in blocks, at least 1.
    pub blocks: u32,
    /// The chain's name for it.
    pub hash: PrefixHash,
}

/// The names of a prompt's reusable prefixes, with what a router must know to compare them.
///
/// A plain value without heap memory. `Display` gives the canonical header text;
/// [`parse`](Self::parse) takes any valid one. Names only: nothing here is a proof of anything.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature {
    pub(crate) block: BlockSize,
    pub(crate) tokens: u32,
    pub(crate) fingerprint: Fingerprint,
    /// The first `rung_count` count; the others are [`UNUSED`], so that equality can be derived.
    pub(crate) rungs: [Rung; MAX_RUNGS],
    pub(crate) rung_count: usize,
    pub(crate) echo: Option<RouteEcho>,
}

pub(crate) const UNUSED: Rung = Rung {
    blocks: 0,
    hash: PrefixHash::from_bytes([0; 8]),
};

impl Signature {
    /// Puts a signature together.
    ///
    /// `tokens` is the length of the whole prompt, 0 if unknown. `rungs` may be empty (a prompt
    /// shorter than a block) and must rise strictly in `blocks`.
    ///
    /// # Errors
    /// Over 16 rungs, a rung of 0 blocks, rungs out of order, or a rung longer than the prompt.
    pub fn new(
        block: BlockSize,
        tokens: u32,
        fingerprint: Fingerprint,
        rungs: &[Rung],
        echo: Option<RouteEcho>,
    ) -> Result<Self, SignatureError> {
        let mut kept = [UNUSED; MAX_RUNGS];
        let Some(slots) = kept.get_mut(..rungs.len()) else {
            return Err(SignatureError::TooManyRungs { given: rungs.len() });
        };
        slots.copy_from_slice(rungs);
        let mut before = 0;
        for (rung, Rung { blocks, .. }) in rungs.iter().enumerate() {
            if *blocks == 0 {
                return Err(SignatureError::EmptyRung { rung });
            }
            if *blocks <= before {
                return Err(SignatureError::RungOrder { rung });
            }
            if !fits(*blocks, block, tokens) {
                return Err(SignatureError::RungBeyondPrompt { rung });
            }
            before = *blocks;
        }
        Ok(Self {
            block,
            tokens,
            fingerprint,
            rungs: kept,
            rung_count: rungs.len(),
            echo,
        })
    }

    /// The same signature with the route of the conversation's last answer.
    #[must_use]
    pub fn with_echo(self, echo: RouteEcho) -> Self {
        Self {
            echo: Some(echo),
            ..self
        }
    }

    /// Tokens in one block (`b`).
    pub fn block(&self) -> BlockSize {
        self.block
    }

    /// Tokens in the whole prompt (`n`), 0 if the sender does not know.
    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    /// What the hashes were made with (`fp`).
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The named prefixes (`r`), the shortest first.
    pub fn rungs(&self) -> &[Rung] {
        self.rungs.get(..self.rung_count).unwrap_or_default()
    }

    /// Where the conversation's last answer came from (`w`, `wn`).
    pub fn echo(&self) -> Option<RouteEcho> {
        self.echo
    }
}

/// Whether a prefix of `blocks` whole blocks lies within a prompt of `tokens` (0: unknown).
pub(crate) fn fits(blocks: u32, block: BlockSize, tokens: u32) -> bool {
    let limit = if tokens == 0 { u32::MAX } else { tokens };
    u64::from(blocks) * u64::from(block.get()) <= u64::from(limit)
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "v={VERSION}, b={}, n={}, fp=:",
            self.block.get(),
            self.tokens
        )?;
        base64::write_standard(f, self.fingerprint.as_bytes())?;
        f.write_str(":, r=(")?;
        for (at, rung) in self.rungs().iter().enumerate() {
            write!(f, "{}{};h=:", if at == 0 { "" } else { " " }, rung.blocks)?;
            base64::write_standard(f, rung.hash.as_bytes())?;
            f.write_str(":")?;
        }
        f.write_str(")")?;
        let Some(echo) = self.echo else { return Ok(()) };
        f.write_str(", w=:")?;
        base64::write_standard(f, echo.tag.as_bytes())?;
        write!(f, ":, wn={}", echo.tokens)
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RouteTag;

    fn check(tokens: u32, blocks: &[u32], expected: Result<(), SignatureError>) {
        let hash = PrefixHash::from_bytes([7; 8]);
        let rungs: Vec<Rung> = blocks
            .iter()
            .map(|blocks| Rung {
                blocks: *blocks,
                hash,
            })
            .collect();
        let fingerprint = Fingerprint::from_bytes([1; 8]);
        let built = Signature::new(BlockSize::default(), tokens, fingerprint, &rungs, None);
        assert_eq!(
            built.map(|signature| assert_eq!(signature.rungs(), rungs)),
            expected
        );
    }

    #[test]
    fn only_rising_rungs_within_the_prompt_make_a_signature() {
        let many: Vec<u32> = (1..=17).collect();
        check(0, &[], Ok(()));
        check(32, &[1, 2], Ok(()));
        check(0, &many[..16], Ok(()));
        check(0, &many, Err(SignatureError::TooManyRungs { given: 17 }));
        check(32, &[0, 1], Err(SignatureError::EmptyRung { rung: 0 }));
        check(32, &[1, 1], Err(SignatureError::RungOrder { rung: 1 }));
        check(32, &[2, 1], Err(SignatureError::RungOrder { rung: 1 }));
        check(
            31,
            &[1, 2],
            Err(SignatureError::RungBeyondPrompt { rung: 1 }),
        );
        check(0, &[268_435_455], Ok(()));
        check(
            0,
            &[268_435_456],
            Err(SignatureError::RungBeyondPrompt { rung: 0 }),
        );
    }

    #[test]
    fn an_echo_is_added_and_replaced() {
        let fingerprint = Fingerprint::from_bytes([1; 8]);
        let signature = Signature::new(BlockSize::default(), 5, fingerprint, &[], None);
        let echo = |tokens| RouteEcho {
            tag: RouteTag::from_bytes([2; 4]),
            tokens,
        };
        let echoing = signature.map(|signature| signature.with_echo(echo(1)).with_echo(echo(9)));
        assert_eq!(
            echoing.map(|echoing| echoing.to_string()),
            Ok("v=1, b=16, n=5, fp=:AQEBAQEBAQE=:, r=(), w=:AgICAg==:, wn=9".to_owned())
        );
    }
}
