//! The pipeline: render, tokenize, chain, choose rungs, and keep text and signature together.

use std::fmt;
use std::sync::Arc;

use headwater_signature::{
    BlockSize, Chain, MAX_EMITTED_RUNGS, PrefixHash, RouteEcho, Rung, Scheme, Seed, Signature,
    choose_rungs,
};

use crate::{
    AffinityMode, Align, Prompt, SignError, SignedPrompt, SpecialTokens, Tokenize, Tokens,
    affinity, align,
    borders::{Borders, StableParts},
    render::{Rendered, Renderer},
    seam::Seams,
    signed::Notes,
};

/// What a signature depends on besides text and tokenizer.
///
/// Not `non_exhaustive`: write `SignOptions { model, ..SignOptions::default() }`.
#[derive(Clone, Debug, Default)]
pub struct SignOptions {
    /// Tokens in one block. Must divide the engine's block or be a multiple of it.
    pub block: BlockSize,
    /// The model as the engine is asked for it, adapter included. Empty if there is only one.
    pub model: String,
    /// The tenant's secret.
    pub salt: Option<Salt>,
    /// The caller's id of the conversation. Only a keyed hash of it is sent.
    pub session: Option<String>,
    /// How `Prefix-Affinity` is made.
    pub affinity: AffinityMode,
    /// Where the conversation's last answer came from, from its `Prefix-Route` header.
    pub echo: Option<RouteEcho>,
    /// Whether stable parts are lengthened to a block border.
    pub align: Align,
}

/// A tenant's secret, which keeps others from telling that two tenants sent the same prompt.
///
/// At least [`MIN_BYTES`](Self::MIN_BYTES) random bytes; a shorter one can be guessed. Shows
/// itself to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Salt(Vec<u8>);

impl Salt {
    /// What makes guessing hopeless.
    pub const MIN_BYTES: usize = 16;

    /// Takes the secret as it is.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What an engine may know of it: the same for all requests of the tenant, and no way back.
    fn cache_salt(&self) -> Option<Arc<str>> {
        const CONTEXT: &str = "headwater cache salt v1";
        let derived = blake3::Hash::from_bytes(blake3::derive_key(CONTEXT, &self.0));
        (!self.is_empty()).then(|| derived.to_hex().as_str().into())
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(…)")
    }
}

impl Prompt {
    /// Renders, tokenizes and names the prompt.
    ///
    /// # Errors
    /// The tokenizer fails, or there are more tokens than a header can say.
    pub fn sign<T: Tokenize + ?Sized>(
        &self,
        tokenizer: &T,
        options: &SignOptions,
    ) -> Result<SignedPrompt, SignError> {
        let mut rendered = Rendered::new(Renderer::of(&self.segments));
        let paddings = align::lay_out(&mut rendered, &self.segments, tokenizer, options)?;
        rendered.invite();
        tokenizer.check(&rendered.text)?;
        let tokens = tokenizer.encode(&rendered.text, &rendered.markers)?;
        let seed = seed(tokenizer, rendered.renderer, options);
        let mut chain = seed.chain();
        chain.extend(&tokens.ids);
        let notes = Notes {
            changes: Arc::clone(&self.changes),
            warnings: Arc::clone(&self.warnings),
            paddings,
        };
        let sheet = Sheet {
            // Hashing the text for it is not free, so only where it is asked for.
            first_turn: match options.session {
                Some(_) => String::new(),
                None => affinity::first_turn(&rendered),
            },
            rendered: Arc::new(rendered),
            tokens: Arc::new(tokens),
            notes: Arc::new(notes),
            parts: None,
        };
        sheet.name(tokenizer, options, &seed, &chain)
    }
}

/// A prompt that has been rendered and tokenized.
pub(crate) struct Sheet {
    pub(crate) rendered: Arc<Rendered>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) notes: Arc<Notes>,
    /// Stands for a session id where there is none.
    pub(crate) first_turn: String,
    /// Where the stable parts end, if that is known.
    pub(crate) parts: Option<StableParts>,
}

impl Sheet {
    /// Names the prefixes. `chain` reaches the end of the last turn at least.
    pub(crate) fn name<T: Tokenize + ?Sized>(
        self,
        tokenizer: &T,
        options: &SignOptions,
        seed: &Seed,
        chain: &Chain,
    ) -> Result<SignedPrompt, SignError> {
        let tokens = self.tokens.ids.len();
        let count = u32::try_from(tokens).map_err(|_| SignError::TooLong { tokens })?;
        let seams = Seams {
            tokenizer,
            text: &self.rendered.text,
            markers: &self.rendered.markers,
            tokens: &self.tokens,
        };
        let block = options.block;
        let parts = match self.parts {
            Some(parts) => parts,
            None => StableParts::find(&seams, &self.rendered)?,
        };
        let borders = Borders::find(&seams, &self.rendered, parts, block, count)?;
        let within = borders.floor..=borders.limit;
        let blocks = choose_rungs(&borders.wanted(block), within, MAX_EMITTED_RUNGS);
        let rungs = name(chain, &blocks);
        let signature = Signature::new(block, count, seed.fingerprint(), &rungs, options.echo)
            .map_err(SignError::Signature)?;
        let static_blocks = parts.static_end.map_or(0, |border| border.blocks(block));
        let affinity = affinity::key(
            options.affinity,
            seed,
            options.session.as_deref().unwrap_or(&self.first_turn),
            affinity::Known::of(options, &self.rendered),
            hash_at(chain, static_blocks),
        );
        Ok(SignedPrompt {
            rendered: self.rendered,
            tokens: self.tokens,
            borders,
            signature,
            affinity,
            notes: self.notes,
            model: options.model.as_str().into(),
            cache_salt: options.salt.as_ref().and_then(Salt::cache_salt),
        })
    }
}

pub(crate) fn seed<T: Tokenize + ?Sized>(
    tokenizer: &T,
    renderer: Renderer,
    options: &SignOptions,
) -> Seed {
    Scheme {
        tokenizer: &tokenizer.identity(),
        template: renderer.as_str(),
        cleaning: &headwater_text::profile_identity(),
        block: options.block,
        add_special_tokens: tokenizer.special_tokens() == SpecialTokens::Added,
        model: &options.model,
        salt: options.salt.as_ref().map(|salt| salt.0.as_slice()),
    }
    .seed()
}

fn name(chain: &Chain, blocks: &[u32]) -> Vec<Rung> {
    let rung = |blocks: &u32| {
        Some(Rung {
            blocks: *blocks,
            hash: hash_at(chain, *blocks)?,
        })
    };
    blocks.iter().filter_map(rung).collect()
}

/// The name of the first `blocks` blocks; none for no blocks.
fn hash_at(chain: &Chain, blocks: u32) -> Option<PrefixHash> {
    let index = usize::try_from(blocks.checked_sub(1)?).ok()?;
    chain.hashes().get(index).copied()
}
