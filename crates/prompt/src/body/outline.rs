//! A signed prompt as blocks in the order in which a provider hashes them.

use super::{Api, BodyError, BodyNote, api::System, plan::Spot};
use crate::{
    Media, Role, SegmentLabel, SignedPrompt, ToolCall, Volatility,
    prompt::{Body, Joint},
    render::{Piece, Renderer},
};

/// Tools, system text and messages, in this order.
pub(super) struct Outline<'a> {
    pub(super) tools: Option<Block<'a>>,
    /// Empty where system text has its place among the messages.
    pub(super) system: Vec<Block<'a>>,
    pub(super) messages: Vec<Entry<'a>>,
    /// System text that had to be moved.
    pub(super) notes: Vec<BodyNote>,
}

/// A message.
pub(super) struct Entry<'a> {
    pub(super) role: Role,
    pub(super) call_id: Option<&'a str>,
    /// At least one.
    pub(super) blocks: Vec<Block<'a>>,
}

/// What can carry a marker: text of one volatility, a medium, a call, or the tools.
pub(super) struct Block<'a> {
    pub(super) content: Content<'a>,
    /// The first segment of it.
    pub(super) segment: &'a SegmentLabel,
    /// Its place in the body, from 0.
    pub(super) index: usize,
    volatility: Volatility,
    /// Where its text begins in the signed text.
    start: usize,
    /// Tokens of its own, with the message's markup before it.
    tokens: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Content<'a> {
    Tools(&'a str),
    Text(&'a str),
    Media(&'a Media),
    Call(&'a ToolCall),
}

impl<'a> Outline<'a> {
    /// Reads the prompt. Nothing in it is copied.
    pub(super) fn read(api: Api, signed: &'a SignedPrompt) -> Result<Self, BodyError> {
        let rendered = &*signed.rendered;
        if rendered.renderer == Renderer::Plain {
            return Err(BodyError::NoRoles { api });
        }
        let mut outline = Self {
            tools: None,
            system: Vec::new(),
            messages: Vec::new(),
            notes: Vec::new(),
        };
        let mut end = 0;
        for piece in &rendered.pieces {
            let tokens = &signed.tokens;
            let own = tokens.before(piece.range.end) - tokens.before(end);
            end = piece.range.end;
            outline.add(piece, &rendered.text, own);
        }
        if api.system() == System::Ahead {
            outline.hoist(api)?;
        }
        outline.number();
        let says = |entry: &Entry<'_>| entry.role != Role::System;
        if outline.messages.iter().any(says) {
            Ok(outline)
        } else {
            Err(BodyError::NoMessages { api })
        }
    }

    fn add(&mut self, piece: &'a Piece, text: &'a str, tokens: usize) {
        let slice = text.get(piece.range.clone()).unwrap_or_default();
        let content = match &piece.body {
            Body::Tools => Content::Tools(slice),
            Body::Text => Content::Text(slice),
            Body::Media(media) => Content::Media(media),
            Body::Call(call) => Content::Call(call),
        };
        let block = Block {
            content,
            segment: &piece.label,
            index: 0,
            volatility: piece.label.volatility,
            start: piece.range.start,
            tokens,
        };
        let Some(role) = piece.label.role else {
            self.tools = Some(block);
            return;
        };
        match self.messages.last_mut() {
            Some(entry) if matches!(piece.joint, Joint::Joins) => {
                entry.add(block, text.get(..piece.range.end).unwrap_or_default());
            }
            _ => self.messages.push(Entry {
                role,
                call_id: match &piece.joint {
                    Joint::Answers(id) => Some(id),
                    Joint::ByRole | Joint::Opens | Joint::Joins => None,
                },
                blocks: vec![block],
            }),
        }
    }

    /// Takes system text out of the messages.
    fn hoist(&mut self, api: Api) -> Result<(), BodyError> {
        for entry in std::mem::take(&mut self.messages) {
            if entry.role != Role::System {
                self.messages.push(entry);
                continue;
            }
            if !self.messages.is_empty() {
                for block in &entry.blocks {
                    let segment = block.segment.clone();
                    if block.volatility == Volatility::Dynamic {
                        return Err(BodyError::LateSystem { api, segment });
                    }
                    self.notes.push(BodyNote::Hoisted { segment });
                }
            }
            self.system.extend(entry.blocks);
        }
        Ok(())
    }

    fn number(&mut self) {
        let messages = self.messages.iter_mut().flat_map(|entry| &mut entry.blocks);
        let all = self.tools.iter_mut().chain(&mut self.system);
        for (index, block) in all.chain(messages).enumerate() {
            block.index = index;
        }
    }

    /// Every block with what a plan of markers has to know of it.
    pub(super) fn spots(&self, api: Api) -> Vec<Spot> {
        let ahead = self.tools.iter().chain(&self.system);
        let ahead = ahead.map(|block| (Role::System, block));
        let messages = self
            .messages
            .iter()
            .flat_map(|entry| entry.blocks.iter().map(|block| (entry.role, block)));
        let mut tokens = 0;
        let spot = |(role, block): (Role, &Block<'_>)| {
            tokens += block.tokens;
            Spot {
                tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
                volatility: block.volatility,
                markable: block.markable(api, role),
            }
        };
        ahead.chain(messages).map(spot).collect()
    }

    /// The last block of the request before this one, if this one goes on from another: what
    /// stands before the model's last turns.
    pub(super) fn previous_end(&self) -> Option<usize> {
        let answered = |entry: &Entry<'_>| {
            let dynamic = |block: &Block<'_>| block.volatility == Volatility::Dynamic;
            entry.role == Role::Assistant && entry.blocks.iter().any(dynamic)
        };
        let last = self.messages.iter().rposition(answered)?;
        let (before, _) = self.messages.split_at(last);
        let asked = before.iter().rev().find(|entry| !answered(entry))?;
        asked.blocks.last().map(|block| block.index)
    }
}

impl<'a> Entry<'a> {
    /// Adds to the message, in one block where nothing could stand between. `text` is the signed
    /// text up to the end of `block`.
    fn add(&mut self, block: Block<'a>, text: &'a str) {
        let one = |last: &Block<'_>| {
            let both = matches!(
                (last.content, block.content),
                (Content::Text(_), Content::Text(_))
            );
            both && (last.volatility == block.volatility || self.role == Role::Tool)
        };
        match self.blocks.last_mut() {
            Some(last) if one(last) => {
                last.content = Content::Text(text.get(last.start..).unwrap_or_default());
                last.volatility = block.volatility;
                last.tokens += block.tokens;
            }
            _ => self.blocks.push(block),
        }
    }

    /// All of the text, in one piece.
    pub(super) fn text(&self) -> String {
        self.blocks.iter().filter_map(Block::text).collect()
    }

    /// The calls that the model made.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Block<'a>> {
        let call = |block: &&Block<'_>| matches!(block.content, Content::Call(_));
        self.blocks.iter().filter(call)
    }

    /// Everything but the calls.
    pub(super) fn said(&self) -> impl Iterator<Item = &Block<'a>> {
        let call = |block: &&Block<'_>| !matches!(block.content, Content::Call(_));
        self.blocks.iter().filter(call)
    }
}

impl<'a> Block<'a> {
    pub(super) fn text(&self) -> Option<&'a str> {
        match self.content {
            Content::Text(text) => Some(text),
            Content::Tools(_) | Content::Media(_) | Content::Call(_) => None,
        }
    }

    /// Whether the endpoint takes a marker here.
    fn markable(&self, api: Api, role: Role) -> bool {
        let (tools, call) = (
            matches!(self.content, Content::Tools(_)),
            matches!(self.content, Content::Call(_)),
        );
        let empty = self.text().is_some_and(|text| text.trim().is_empty());
        match api {
            // A tool's result carries its marker outside of its text, which may be empty.
            Api::AnthropicMessages | Api::AnthropicVertex => role == Role::Tool || !empty,
            Api::BedrockConverse => !call && (role == Role::Tool || !empty),
            Api::DashScopeChat => !tools && !call && !empty,
            // Stated for what goes in, not for what the model said or a tool returned.
            Api::OpenAiChat | Api::OpenAiResponses => {
                matches!(role, Role::System | Role::User) && !tools && !empty
            }
            Api::AzureChat
            | Api::GeminiContent
            | Api::DeepSeekChat
            | Api::VllmChat
            | Api::SglangChat => false,
        }
    }
}
