//! What a request asks the fleet for: its size, the names of its prefixes, the key it prefers by.

use headwater_signature::{RouteEcho, Signature};

use crate::name::Name;
use crate::request::{KeySource, Request};
use crate::settings::Settings;

/// A request, read once under the settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sought<'a> {
    /// Tokens of the prompt, stated or assumed; never 0.
    pub(crate) prompt_tokens: u32,
    /// By what it can be found in a cache.
    pub(crate) by: By<'a>,
    /// Decides the order of the candidates; without one they rotate.
    pub(crate) key: Option<u64>,
    /// The conversation, where the key is one: what the table remembers it by.
    pub(crate) conversation: Option<u64>,
    /// Where the client says that its last turn was.
    pub(crate) echo: Option<RouteEcho>,
}

/// By what a prompt can be found in a worker's cache.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By<'a> {
    /// The names of its prefixes.
    Rungs(&'a Signature),
    /// Only the key that it came under.
    Key(u64),
    /// Nothing: it can go anywhere.
    Nothing,
}

impl<'a> Sought<'a> {
    pub(crate) fn of(request: &Request<'a>, settings: &Settings) -> Self {
        let key = request.affinity;
        let conversation = match request.key_source {
            // Beside a signature the key is that of the affinity header, if there is one.
            KeySource::Session | KeySource::Affinity | KeySource::Signature => key,
            // The head of a body is shared by many conversations.
            KeySource::Body | KeySource::None => None,
        };
        let by_key = key.map_or(By::Nothing, By::Key);
        let Some(signature) = request.signature else {
            let prompt_tokens = assumed_tokens(request.body_bytes, settings);
            return Self {
                prompt_tokens,
                by: by_key,
                key,
                conversation,
                echo: None,
            };
        };
        let prompt_tokens = prompt_tokens(signature, settings);
        let echo = signature.echo();
        match signature.rungs().last() {
            Some(deepest) => {
                let key = key.or(Some(u64::from_be_bytes(*deepest.hash.as_bytes())));
                Self {
                    prompt_tokens,
                    by: By::Rungs(signature),
                    key,
                    conversation,
                    echo,
                }
            }
            // Less than a block is never cached: any worker will do, so spread it.
            None if (1..signature.block().get()).contains(&signature.tokens()) => Self {
                prompt_tokens,
                by: By::Nothing,
                key: None,
                conversation: None,
                echo: None,
            },
            None => Self {
                prompt_tokens,
                by: by_key,
                key,
                conversation,
                echo,
            },
        }
    }

    /// Tokens that can be cached out of `tokens`: whole blocks, and never the last token, which
    /// an engine always computes anew.
    pub(crate) fn cacheable(&self, tokens: u64) -> u32 {
        let block = match self.by {
            By::Rungs(signature) => signature.block().get(),
            By::Key(_) | By::Nothing => 1,
        };
        let most = self.prompt_tokens - 1;
        let tokens = u32::try_from(tokens).unwrap_or(most).min(most);
        tokens / block * block
    }

    /// Tokens in a share of the prompt, as far as they can be cached.
    pub(crate) fn share(&self, share: f64) -> u32 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a share of a u32 fits; `as` saturates"
        )]
        let tokens = (f64::from(self.prompt_tokens) * share) as u64;
        self.cacheable(tokens)
    }

    /// The names of its prefixes from the longest to the shortest, with their tokens.
    pub(crate) fn rungs(&self) -> impl Iterator<Item = (Name, u32)> {
        let signature = match self.by {
            By::Rungs(signature) => Some(signature),
            By::Key(_) | By::Nothing => None,
        };
        signature.into_iter().flat_map(move |signature| {
            let block = u64::from(signature.block().get());
            signature.rungs().iter().rev().map(move |rung| {
                let name = Name::prefix(rung.hash, signature.fingerprint());
                (name, self.cacheable(u64::from(rung.blocks) * block))
            })
        })
    }

    /// Every name that its prompt brings to a worker, the longest first, then its key's.
    pub(crate) fn names(&self) -> impl Iterator<Item = Name> {
        self.rungs().map(|(name, _)| name).chain(self.session())
    }

    /// The same with what each stands for; a key that only remembers where a conversation was
    /// stands for nothing.
    pub(crate) fn names_with_tokens(
        &self,
        settings: &Settings,
    ) -> impl Iterator<Item = (Name, u32)> {
        let tokens = match self.by {
            By::Key(_) => self.share(settings.session_share),
            By::Rungs(_) | By::Nothing => 0,
        };
        self.rungs()
            .chain(self.session().map(move |name| (name, tokens)))
    }

    /// The name of its shortest prefix: what it has in common with most others.
    pub(crate) fn static_prefix(&self) -> Option<Name> {
        let By::Rungs(signature) = self.by else {
            return None;
        };
        let shortest = signature.rungs().first()?;
        Some(Name::prefix(shortest.hash, signature.fingerprint()))
    }

    /// The name that the table keeps its key under.
    pub(crate) fn session(&self) -> Option<Name> {
        match self.by {
            By::Key(key) => Some(Name::session(key)),
            By::Rungs(_) | By::Nothing => self.conversation.map(Name::session),
        }
    }
}

/// Tokens of a prompt that nobody has counted: what is assumed of all, or fewer where its body is
/// too short for that. A long body may be a picture.
fn assumed_tokens(body_bytes: Option<u64>, settings: &Settings) -> u32 {
    /// A token of English has four; of other languages often three.
    const BYTES: u64 = 3;
    let assumed = settings
        .assumed_prompt_tokens
        .min(settings.max_prompt_tokens);
    let fits = body_bytes.map_or(u64::MAX, |bytes| bytes / BYTES);
    u32::try_from(fits).map_or(assumed, |fits| assumed.min(fits.max(1)))
}

/// The prompt's tokens as stated, else a block more than its longest name, else assumed.
fn prompt_tokens(signature: &Signature, settings: &Settings) -> u32 {
    let block = signature.block().get();
    let tokens = match (signature.tokens(), signature.rungs().last()) {
        (0, Some(deepest)) => deepest.blocks.saturating_add(1).saturating_mul(block),
        (0, None) => settings.assumed_prompt_tokens,
        (stated, _) => stated,
    };
    tokens.min(settings.max_prompt_tokens)
}

#[cfg(test)]
mod tests {
    use headwater_signature::{BlockSize, Fingerprint, PrefixHash, Rung};

    use super::*;

    fn signature(tokens: u32, rungs: &[u32]) -> Signature {
        let hash = |blocks: &u32| PrefixHash::from_bytes(u64::from(*blocks).to_be_bytes());
        let rungs: Vec<_> = rungs
            .iter()
            .map(|b| Rung {
                blocks: *b,
                hash: hash(b),
            })
            .collect();
        let block = BlockSize::new(16).unwrap();
        Signature::new(block, tokens, Fingerprint::from_bytes([1; 8]), &rungs, None).unwrap()
    }

    fn check(tokens: u32, rungs: &[u32], expected: (u32, &[u32], Option<u64>)) {
        let signature = signature(tokens, rungs);
        let request = Request {
            signature: Some(&signature),
            ..Request::ANONYMOUS
        };
        let sought = Sought::of(&request, &Settings::default());
        let found: Vec<u32> = sought.rungs().map(|(_, tokens)| tokens).collect();
        assert_eq!(
            (sought.prompt_tokens, &found[..], sought.key),
            expected,
            "{tokens} {rungs:?}"
        );
    }

    #[test]
    fn a_signature_is_read_as_tokens() {
        check(100, &[2, 6], (100, &[96, 32], Some(6)));
        // The last block of an exactly aligned prompt is computed anew.
        check(96, &[2, 6], (96, &[80, 32], Some(6)));
        check(0, &[2, 6], (112, &[96, 32], Some(6)));
        check(0, &[], (2_048, &[], None));
        check(15, &[], (15, &[], None));
        // A claim beyond all reason is cut, and its names with it.
        check(
            u32::MAX,
            &[1 << 27],
            (1 << 20, &[(1 << 20) - 16], Some(1 << 27)),
        );
    }

    #[test]
    fn a_short_body_is_no_long_prompt() {
        let check = |body_bytes, expected| {
            let request = Request {
                body_bytes,
                ..Request::ANONYMOUS
            };
            let sought = Sought::of(&request, &Settings::default());
            assert_eq!(sought.prompt_tokens, expected, "{body_bytes:?}");
        };
        check(None, 2_048);
        check(Some(0), 1);
        check(Some(300), 100);
        check(Some(6_143), 2_047);
        check(Some(u64::MAX), 2_048);
    }

    #[test]
    fn a_prompt_below_one_block_has_no_key() {
        let (short, block) = (signature(15, &[]), signature(16, &[]));
        let key = |signature| {
            let source = KeySource::Affinity;
            let request = Request {
                affinity: Some(9),
                key_source: source,
                ..Request::ANONYMOUS
            };
            Sought::of(
                &Request {
                    signature,
                    ..request
                },
                &Settings::default(),
            )
            .key
        };
        assert_eq!(
            (key(Some(&short)), key(Some(&block)), key(None)),
            (None, Some(9), Some(9))
        );
    }
}
