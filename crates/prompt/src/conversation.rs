//! A conversation that grows turn by turn and pays for what is new.

use std::fmt;
use std::sync::Arc;

use headwater_signature::{ParseError, Route, RouteEcho};

use crate::{
    Error, Prepared, PromptError, Seam, SignOptions, SignedPrompt, Turn, UserTurn, affinity,
    prepared::{Head, State},
    sign::Sheet,
};

/// A growing chat. Its headers are those of signing the same [`Chat`](crate::Chat) from scratch,
/// byte for byte, at the price of the new turns.
///
/// Turns are only ever added behind the others, so each prompt begins with the one before. What
/// does otherwise says so in its name, and tells its price as a [`Cost`](crate::Cost).
///
/// ```
/// use headwater::{BytesTokenizer, Chat, Prepared, SignOptions, Turn, assert_extends};
///
/// let chat = Chat::new().system("You answer questions about the harbour.");
/// let head = Prepared::new(chat, BytesTokenizer, SignOptions::default())?;
///
/// let mut talk = head.conversation().session("visitor 7");
/// let first = talk.ask(Turn::user("When is high tide?").fact("now", "09:30"))?;
/// // Send `first.headers()` with `first.messages_json()`. From the response:
/// talk.observe_route("w=:AAECAw==:, matched=0, reason=cold")?;
/// talk.push(Turn::assistant("At 12:04."))?;
///
/// let second = talk.ask(Turn::user("And low tide?").fact("now", "09:31"))?;
/// assert_extends(&first, &second)?;
/// // The next request goes where the last one went.
/// assert!(second.headers()[0].1.contains(", w=:AAECAw==:, wn="));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Conversation {
    pub(crate) head: Prepared,
    pub(crate) state: State,
    options: SignOptions,
    /// Stands for a session id, once there is a first user turn that nothing can change.
    first_turn: Option<String>,
    /// Tokens of the prompt that was signed last.
    pub(crate) sent_tokens: Option<u32>,
}

impl Conversation {
    pub(crate) fn new(head: Prepared) -> Self {
        let Head { state, options, .. } = head.head();
        Self {
            state: state.clone(),
            options: options.clone(),
            head,
            first_turn: None,
            sent_tokens: None,
        }
    }

    /// The same with the caller's id of the conversation. Only a keyed hash of it is sent.
    #[must_use]
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.options.session = Some(id.into());
        self
    }

    /// Adds a turn: an answer, a tool's result, or history from a store.
    ///
    /// # Errors
    /// A fact's name is no name. Then nothing has changed.
    pub fn push(&mut self, turn: impl Into<Turn>) -> Result<(), PromptError> {
        self.state.push(&turn.into())
    }

    /// Adds a user's turn and signs.
    ///
    /// # Errors
    /// As [`push`](Self::push) and [`sign`](Self::sign).
    pub fn ask(&mut self, turn: impl Into<UserTurn>) -> Result<SignedPrompt, Error> {
        self.push(turn.into())?;
        Ok(self.sign()?)
    }

    /// Signs the conversation as it stands.
    ///
    /// The result shares its text with the conversation. Drop it before the next turn, or the
    /// next turn pays for a copy.
    ///
    /// # Errors
    /// As [`Prompt::sign`](crate::Prompt::sign).
    pub fn sign(&mut self) -> Result<SignedPrompt, crate::SignError> {
        let Head {
            tokenizer,
            seed,
            seam,
            ..
        } = self.head.head();
        let tokenizer = &**tokenizer;
        Arc::make_mut(&mut self.state.rendered).invite();
        self.state.encode(tokenizer, *seam)?;
        let first_turn = match &self.first_turn {
            Some(known) => known.clone(),
            None => affinity::first_turn(&self.state.rendered),
        };
        if affinity::has_user_turn(&self.state.rendered) {
            self.first_turn = Some(first_turn.clone());
        }
        let sheet = Sheet {
            rendered: Arc::clone(&self.state.rendered),
            tokens: Arc::clone(&self.state.tokens),
            notes: Arc::clone(&self.state.notes),
            first_turn,
            parts: self.state.parts,
        };
        let signed = match seam {
            Seam::Exact => sheet.name(tokenizer, &self.options, seed, &self.state.chain)?,
            Seam::Probe => {
                let mut chain = self.state.chain.clone();
                chain.extend(&sheet.tokens.ids);
                sheet.name(tokenizer, &self.options, seed, &chain)?
            }
        };
        self.sent_tokens = Some(signed.tokens());
        Ok(signed)
    }

    /// Takes the `Prefix-Route` header of the last answer, so that the next request says where
    /// the conversation lives. Before anything was signed it has no effect.
    ///
    /// # Errors
    /// The header is malformed. Then the conversation goes on without it.
    pub fn observe_route(&mut self, header: impl AsRef<[u8]>) -> Result<(), ParseError> {
        let route = Route::parse(header.as_ref())?;
        if let Some(tokens) = self.sent_tokens {
            self.options.echo = Some(RouteEcho {
                tag: route.worker,
                tokens,
            });
        }
        Ok(())
    }

    /// How many turns there are behind the head, the head's own among them.
    pub fn turns(&self) -> usize {
        self.state.turns.len()
    }

    pub(crate) fn forget_first_turn(&mut self) {
        self.first_turn = None;
    }
}

impl fmt::Debug for Conversation {
    /// Shows nothing of the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("head", &self.head)
            .field("turns", &self.turns())
            .finish_non_exhaustive()
    }
}
