//! The pipeline: render, tokenize, chain, choose rungs, and keep text and signature together.

use std::fmt;

use headwater_signature::{
    AffinityKey, BlockSize, Chain, HEADER_AFFINITY, HEADER_SIGNATURE, PrefixHash, RouteEcho, Rung,
    Scheme, Seed, Signature,
};

use crate::{
    AffinityMode, Change, Message, Prompt, SignError, SpecialTokens, Tokenize, Warning, affinity,
    render::{self, MESSAGE_START, Rendered, Renderer},
    rungs,
    seam::Seams,
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
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(…)")
    }
}

/// A prompt's text and the names of its prefixes. Neither can be had without the other.
#[derive(Clone)]
pub struct SignedPrompt {
    rendered: Rendered,
    signature: Signature,
    affinity: AffinityKey,
    blocks: u32,
    changes: Vec<Change>,
    warnings: Vec<Warning>,
}

impl Prompt {
    /// Renders, tokenizes and names the prompt.
    ///
    /// # Errors
    /// The tokenizer fails, or there are more tokens than a header can say.
    pub fn sign(
        &self,
        tokenizer: &impl Tokenize,
        options: &SignOptions,
    ) -> Result<SignedPrompt, SignError> {
        let rendered = render::render(&self.segments);
        tokenizer.check(&rendered.text)?;
        let tokens = tokenizer.encode(&rendered.text, &rendered.markers)?;
        let count = u32::try_from(tokens.ids.len()).map_err(|_| SignError::TooLong {
            tokens: tokens.ids.len(),
        })?;
        let seed = seed(tokenizer, rendered.renderer, options);
        let mut chain = seed.chain();
        chain.extend(&tokens.ids);
        let seams = Seams {
            tokenizer,
            text: &rendered.text,
            markers: &rendered.markers,
            tokens: &tokens,
        };
        let borders = Borders::find(&seams, &rendered, options.block, count)?;
        let rungs = name(&chain, &rungs::choose(&borders.wanted(), borders.limit));
        let signature = Signature::new(
            options.block,
            count,
            seed.fingerprint(),
            &rungs,
            options.echo,
        )
        .map_err(SignError::Signature)?;
        let static_prefix = hash_at(&chain, borders.static_end);
        let affinity = affinity::key(
            options.affinity,
            &seed,
            options.session.as_deref(),
            static_prefix,
            &rendered,
        );
        Ok(SignedPrompt {
            rendered,
            signature,
            affinity,
            blocks: count / options.block.get(),
            changes: self.changes.clone(),
            warnings: self.warnings.clone(),
        })
    }
}

impl SignedPrompt {
    /// The canonical text, for an endpoint that completes text. A chat prompt's text ends where
    /// the model is to speak.
    pub fn text(&self) -> &str {
        &self.rendered.text
    }

    /// The messages, for a chat endpoint. `None` for a prompt without roles.
    pub fn messages(&self) -> Option<&[Message]> {
        self.rendered.messages.as_deref()
    }

    /// The messages in the JSON form of chat endpoints: `[{"role": …, "content": …}, …]`.
    pub fn messages_json(&self) -> Option<serde_json::Value> {
        let messages = self.messages()?.iter();
        Some(
            messages
                .map(|m| serde_json::json!({"role": m.role.as_str(), "content": m.content}))
                .collect(),
        )
    }

    /// Tokens in the whole prompt, as the tokenizer counts them.
    pub fn tokens(&self) -> u32 {
        self.signature.tokens()
    }

    /// Whole blocks in the prompt.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The names of the prefixes. Without rungs for a prompt shorter than a block.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The conversation's key.
    pub fn affinity(&self) -> AffinityKey {
        self.affinity
    }

    /// Header names, in lower case, with their values: send both with the request.
    pub fn headers(&self) -> [(&'static str, String); 2] {
        [
            (HEADER_SIGNATURE, self.signature.to_string()),
            (HEADER_AFFINITY, self.affinity.to_string()),
        ]
    }

    /// What cleaning changed.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What was kept and deserves a look.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

impl fmt::Debug for SignedPrompt {
    /// Shows the names and nothing of the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedPrompt")
            .field("signature", &self.signature)
            .field("affinity", &self.affinity)
            .finish_non_exhaustive()
    }
}

/// Borders in whole blocks that are stable.
struct Borders {
    static_end: u32,
    semi_static_end: u32,
    /// The newest turns, the very newest first.
    turns: Vec<u32>,
    /// What a rung may name at most.
    limit: u32,
}

impl Borders {
    fn find<T: Tokenize>(
        seams: &Seams<'_, T>,
        rendered: &Rendered,
        block: BlockSize,
        tokens: u32,
    ) -> Result<Self, SignError> {
        let blocks = |at: usize, next| -> Result<u32, SignError> {
            let stable = u32::try_from(seams.stable(at, next)?).unwrap_or(u32::MAX);
            Ok(stable / block.get())
        };
        // A message is always followed by the marker of the next one.
        let next = rendered.messages.is_some().then_some(MESSAGE_START);
        let ends = rendered
            .turns
            .iter()
            .rev()
            .map(|turn| blocks(turn.end, next));
        let turns: Vec<u32> = ends.take(rungs::NEWEST_TURNS).collect::<Result<_, _>>()?;
        // An engine computes at least the last token again, so the block it completes is no hit.
        // Nor is the invitation to speak, which the next turn need not repeat.
        let reusable = tokens.saturating_sub(1) / block.get();
        let newest = turns.first().copied().unwrap_or_default();
        Ok(Self {
            static_end: rendered.static_end.map_or(Ok(0), |at| blocks(at, None))?,
            semi_static_end: rendered
                .semi_static_end
                .map_or(Ok(0), |at| blocks(at, None))?,
            turns,
            limit: newest.min(reusable),
        })
    }

    /// The most important border first.
    fn wanted(&self) -> Vec<u32> {
        [self.static_end, self.semi_static_end]
            .into_iter()
            .chain(self.turns.iter().copied())
            .collect()
    }
}

fn seed(tokenizer: &impl Tokenize, renderer: Renderer, options: &SignOptions) -> Seed {
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
