//! The hash chain: one name for every whole block border of a growing token sequence.

use std::fmt;

use crate::{BlockSize, PrefixHash, scheme::derive};

const CHAIN_CONTEXT: &str = "headwater prefix signature v1 chain";
const STATE_BYTES: usize = 32;

/// Turns tokens into prefix hashes, as they come.
///
/// The work of [`extend`](Self::extend) is proportional to the tokens that are new. A clone is a
/// fork: the shared part of two prompts is hashed once.
#[derive(Clone)]
pub struct Chain {
    /// The next block's preimage: the 32-byte state, then the tokens of the open block.
    preimage: Box<[u8]>,
    /// Bytes of it that are known, always fewer than it has.
    filled: usize,
    hashes: Vec<PrefixHash>,
    tokens: usize,
}

impl Chain {
    pub(crate) fn new(seed: &[u8; 32], block: BlockSize) -> Self {
        let start: [u8; STATE_BYTES] = derive(CHAIN_CONTEXT, &[seed]);
        let mut preimage = vec![0; STATE_BYTES + 4 * block.get() as usize];
        write_state(&mut preimage, &start);
        Self {
            preimage: preimage.into(),
            filled: STATE_BYTES,
            hashes: Vec::new(),
            tokens: 0,
        }
    }

    /// Appends tokens; every block they complete gets its name.
    pub fn extend(&mut self, tokens: &[u32]) {
        let block_tokens = (self.preimage.len() - STATE_BYTES) / 4;
        self.hashes.reserve(tokens.len() / block_tokens);
        self.tokens += tokens.len();
        let mut rest = tokens;
        while !rest.is_empty() {
            let open = self.preimage.get_mut(self.filled..).unwrap_or_default();
            let (words, _) = open.as_chunks_mut::<4>();
            let (part, later) = rest.split_at(words.len().min(rest.len()));
            for (word, token) in words.iter_mut().zip(part) {
                *word = token.to_le_bytes();
            }
            self.filled += 4 * part.len();
            if self.filled == self.preimage.len() {
                self.close_block();
            }
            rest = later;
        }
    }

    /// One hash per whole block: the first names the first block, the second the first two, ….
    /// The tokens after the last border have no name.
    pub fn hashes(&self) -> &[PrefixHash] {
        &self.hashes
    }

    /// The number of tokens so far, those of the open block included.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    fn close_block(&mut self) {
        let state = *blake3::hash(&self.preimage).as_bytes();
        write_state(&mut self.preimage, &state);
        self.filled = STATE_BYTES;
        let [a, b, c, d, e, f, g, h, ..] = state;
        self.hashes
            .push(PrefixHash::from_bytes([a, b, c, d, e, f, g, h]));
    }
}

/// The state is at the front of every preimage.
fn write_state(preimage: &mut [u8], state: &[u8; STATE_BYTES]) {
    if let Some(front) = preimage.first_chunk_mut() {
        *front = *state;
    }
}

impl fmt::Debug for Chain {
    /// Shows neither the state nor the tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("tokens", &self.tokens)
            .field("hashes", &self.hashes)
            .finish_non_exhaustive()
    }
}
