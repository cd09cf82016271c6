//! What all requests of a template share, worked out once.

use std::fmt;
use std::sync::Arc;

use headwater_signature::{Chain, Seed};

use crate::{
    Chat, Conversation, Error, Prompt, Seam, SignOptions, Tokenize, Tokens, Turn, Volatility,
    align,
    borders::StableParts,
    render::{MESSAGE_START, Rendered, Renderer},
    seam::Seams,
    sign,
    signed::Notes,
    turn,
};

/// The head of a chat, cleaned, rendered, tokenized and hashed once and shared by all requests.
///
/// A clone is a reference to the same head. It can be used from any thread.
///
/// ```
/// use headwater::{BytesTokenizer, Chat, Prepared, SignOptions};
///
/// let chat = Chat::new().system("You answer questions about the harbour. ".repeat(50));
/// let head = Prepared::new(chat, BytesTokenizer, SignOptions::default())?;
/// let signed = head.conversation().ask("When is high tide?")?;
/// assert!(signed.tokens() > head.tokens());
///
/// fn shared_by_threads<T: Send + Sync + Clone + 'static>(_: &T) {}
/// shared_by_threads(&head);
/// # Ok::<(), headwater::Error>(())
/// ```
#[derive(Clone)]
pub struct Prepared(Arc<Head>);

pub(crate) struct Head {
    pub(crate) tokenizer: Box<dyn Tokenize + Send + Sync>,
    pub(crate) options: SignOptions,
    pub(crate) seed: Seed,
    /// Whether tokens before a message stay whatever the message is.
    pub(crate) seam: Seam,
    pub(crate) state: State,
}

/// A prompt that can grow: everything that has been worked out about its messages so far.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) rendered: Arc<Rendered>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) notes: Arc<Notes>,
    /// The bytes of the text that `tokens` are those of; what was written since is new.
    pub(crate) encoded: usize,
    /// Covers tokens that stay whatever is added.
    pub(crate) chain: Chain,
    pub(crate) parts: Option<StableParts>,
    /// The first segment of each turn after the head.
    pub(crate) turns: Vec<usize>,
}

impl Prepared {
    /// Works out the head of `chat`. Turns that it has already are part of every conversation.
    /// To share one tokenizer between heads, give it in an [`Arc`].
    ///
    /// # Errors
    /// As [`Chat::prompt`] and [`Prompt::sign`]; an empty chat is an error.
    pub fn new(
        chat: Chat,
        tokenizer: impl Tokenize + Send + Sync + 'static,
        options: SignOptions,
    ) -> Result<Self, Error> {
        let head = chat.head()?;
        let mut rendered = Rendered::new(Renderer::ChatMl);
        let paddings = align::lay_out(&mut rendered, &head.segments, &tokenizer, &options)?;
        rendered.close();
        let seed = sign::seed(&tokenizer, Renderer::ChatMl, &options);
        let mut state = State {
            rendered: Arc::new(rendered),
            tokens: Arc::default(),
            notes: Arc::new(Notes {
                changes: head.changes,
                warnings: head.warnings,
                paddings,
            }),
            encoded: 0,
            chain: seed.chain(),
            parts: None,
            turns: Vec::new(),
        };
        for turn in chat.turns() {
            state.push(turn)?;
        }
        if state.rendered.pieces.is_empty() {
            return Err(crate::PromptError::NoSegments.into());
        }
        let seam = tokenizer.seam(Some(MESSAGE_START));
        state.encode(&tokenizer, seam)?;
        Ok(Self(Arc::new(Head {
            tokenizer: Box::new(tokenizer),
            options,
            seed,
            seam,
            state,
        })))
    }

    /// A conversation that begins with this head.
    pub fn conversation(&self) -> Conversation {
        Conversation::new(self.clone())
    }

    /// Tokens in the head.
    pub fn tokens(&self) -> u32 {
        u32::try_from(self.0.state.tokens.ids.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn head(&self) -> &Head {
        &self.0
    }
}

impl fmt::Debug for Prepared {
    /// Shows nothing of the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("tokens", &self.tokens())
            .field("tokenizer", &self.0.tokenizer.identity())
            .finish_non_exhaustive()
    }
}

impl State {
    /// Cleans a turn and writes it behind the others. On an error nothing has changed.
    pub(crate) fn push(&mut self, turn: &Turn) -> Result<(), crate::PromptError> {
        let mut cleaned = Prompt::default();
        let first = self.rendered.pieces.len();
        turn::add(&mut cleaned, first, Volatility::Dynamic, turn)?;
        self.append(cleaned);
        Ok(())
    }

    pub(crate) fn append(&mut self, cleaned: Prompt) {
        let rendered = Arc::make_mut(&mut self.rendered);
        rendered.reopen();
        self.encoded = self.encoded.min(rendered.text.len());
        self.turns.push(rendered.pieces.len());
        for segment in &cleaned.segments {
            rendered.add(segment);
        }
        rendered.close();
        if !cleaned.changes.is_empty() || !cleaned.warnings.is_empty() {
            let notes = Arc::make_mut(&mut self.notes);
            Arc::make_mut(&mut notes.changes).extend(Arc::unwrap_or_clone(cleaned.changes));
            Arc::make_mut(&mut notes.warnings).extend(Arc::unwrap_or_clone(cleaned.warnings));
        }
    }

    /// Tokenizes what is new and hashes what stays.
    pub(crate) fn encode<T: Tokenize + ?Sized>(
        &mut self,
        tokenizer: &T,
        seam: Seam,
    ) -> Result<(), crate::TokenizeError> {
        let tokens = Arc::make_mut(&mut self.tokens);
        let shared = std::mem::take(&mut self.encoded);
        let Rendered { text, markers, .. } = &*self.rendered;
        tokenizer.check(text)?;
        tokenizer.resume(tokens, shared, text, markers)?;
        self.encoded = text.len();
        if seam == Seam::Exact {
            let stays = tokens.before(self.rendered.end());
            let new = tokens.ids.get(self.chain.tokens()..stays);
            self.chain.extend(new.unwrap_or_default());
            if self.parts.is_none() {
                let seams = Seams {
                    tokenizer,
                    text,
                    markers,
                    tokens,
                };
                self.parts = Some(StableParts::find(&seams, &self.rendered)?);
            }
        }
        Ok(())
    }
}
