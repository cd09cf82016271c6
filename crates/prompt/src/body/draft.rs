//! A body in the making: the outline, what the provider allows, and the markers of the plan.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::{
    Api, Body, BodyError, BodyNote, BodyOptions, Keep, MarkerPlace, Markers, anthropic, bedrock,
    chat, gemini,
    ordered::{Members, Ordered, object, raw, text, write_members},
    outline::{Block, Outline},
    plan::{Allowance, Newest, Plan, plan},
    responses,
};
use crate::{
    SignedPrompt, ToolCall,
    json::{self, Style, Value, from_value},
    provider::{Limits, LimitsError, Rules, limits},
};

/// Everything that the writer of one form needs.
pub(super) struct Draft<'a> {
    pub(super) api: Api,
    pub(super) signed: &'a SignedPrompt,
    pub(super) rules: Rules,
    pub(super) outline: Outline<'a>,
    pub(super) options: &'a BodyOptions,
    plan: Plan,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        api: Api,
        signed: &'a SignedPrompt,
        options: &'a BodyOptions,
    ) -> Result<Self, BodyError> {
        if signed.model.is_empty() && api.names_model() {
            return Err(BodyError::NoModel { api });
        }
        if options.cached_content.is_some() && api != Api::GeminiContent {
            return Err(BodyError::NoCachedContent { api });
        }
        let limits = options.limits()?;
        let rules = api.provider().map(|it| limits.rules(it, &signed.model));
        let mut draft = Self {
            api,
            signed,
            rules: rules.unwrap_or_default(),
            outline: Outline::read(api, signed)?,
            options,
            plan: Plan::default(),
        };
        if draft.marks() {
            let (spots, previous) = (draft.outline.spots(api), draft.outline.previous_end());
            draft.plan = plan(&spots, previous, draft.allowance());
        }
        Ok(draft)
    }

    /// The body and all that there is to say about it.
    pub(super) fn finish(&self) -> Result<Body, BodyError> {
        let mut members = match self.api {
            Api::OpenAiResponses => responses::members(self),
            Api::AnthropicMessages | Api::AnthropicVertex => anthropic::members(self),
            Api::BedrockConverse => bedrock::members(self),
            Api::GeminiContent => gemini::members(self),
            Api::OpenAiChat
            | Api::AzureChat
            | Api::DeepSeekChat
            | Api::DashScopeChat
            | Api::VllmChat
            | Api::SglangChat => chat::members(self),
        }?;
        self.add_parameters(&mut members)?;
        let mut json = String::with_capacity(self.signed.text().len() * 5 / 4);
        write_members(&members, &mut json);
        Ok(Body {
            json,
            markers: self.plan.marks.values().copied().collect(),
            notes: self.notes()?,
        })
    }

    /// Whether markers are written for this model at all. If so, content is always a list of
    /// blocks, so that a marker that goes away changes nothing else.
    pub(super) fn marks(&self) -> bool {
        let known = self.rules.marker_key.is_some() && self.options.markers == Markers::Placed;
        known
            && !matches!(
                self.api,
                Api::AzureChat | Api::GeminiContent | Api::DeepSeekChat
            )
    }

    /// Whether any block carries a marker of the plan.
    pub(super) fn mark(&self, block: &Block<'_>) -> Option<MarkerPlace> {
        self.plan.marks.get(&block.index).copied()
    }

    /// A block's marker as a member of the block: its key, and a value that begins with
    /// `{"type": kind}` or whatever `base` is.
    pub(super) fn marker(
        &self,
        block: &Block<'_>,
        base: Ordered<'a>,
    ) -> Option<(Cow<'a, str>, Ordered<'a>)> {
        let place = self.mark(block)?;
        let key = self.rules.marker_key.clone()?;
        let lifetime = self.lifetime(place);
        Some((
            key.into(),
            base.with_some(lifetime.map(|it| ("ttl".into(), it))),
        ))
    }

    /// What the provider does not do by itself: a lifetime other than its shortest.
    fn lifetime(&self, place: MarkerPlace) -> Option<Ordered<'a>> {
        let stable = matches!(place, MarkerPlace::StaticEnd | MarkerPlace::SemiStaticEnd);
        match self.options.keep {
            Keep::Short => None,
            Keep::LongStable if !stable => None,
            Keep::LongStable | Keep::Long => self.longest(),
        }
    }

    /// The provider's longest lifetime, unless it is its only one.
    pub(super) fn longest(&self) -> Option<Ordered<'a>> {
        let [_, .., longest] = self.rules.lifetimes.as_slice() else {
            return None;
        };
        Some(text(longest.as_str().to_owned()))
    }

    /// The model as a member, unless there is only one.
    pub(super) fn model(&self) -> Members<'a> {
        if self.signed.model.is_empty() {
            return Vec::new();
        }
        vec![("model".into(), text(&*self.signed.model))]
    }

    fn allowance(&self) -> Allowance {
        let openai = matches!(self.api, Api::OpenAiChat | Api::OpenAiResponses);
        Allowance {
            markers: self.rules.max_markers,
            lookback: self.rules.lookback_blocks,
            minimum: self.rules.minimum_tokens,
            newest: if openai {
                Newest::Provider
            } else {
                Newest::Body
            },
        }
    }

    fn add_parameters(&self, members: &mut Members<'a>) -> Result<(), BodyError> {
        let api = self.api;
        for (name, value) in &self.options.parameters {
            if api == Api::BedrockConverse && name == bedrock::TOOL_CHOICE {
                continue;
            }
            let taken = members.iter().any(|(key, _)| key == name);
            if taken || content_key(api, name) {
                let name = name.clone();
                return Err(BodyError::Parameter { api, name });
            }
            members.push((name.as_str().into(), self.parameter(name, value)?));
        }
        let name = "max_tokens";
        let given = members.iter().any(|(key, _)| key == name);
        let wanted = matches!(api, Api::AnthropicMessages | Api::AnthropicVertex);
        if wanted && !given {
            return Err(BodyError::MissingParameter { api, name });
        }
        Ok(())
    }

    /// A parameter's value in canonical form.
    pub(super) fn parameter(
        &self,
        name: &str,
        value: &serde_json::Value,
    ) -> Result<Ordered<'a>, BodyError> {
        let json = from_value(value, Style::Compact);
        json.map(raw).map_err(|error| BodyError::ParameterValue {
            api: self.api,
            name: name.to_owned(),
            error,
        })
    }

    fn notes(&self) -> Result<Vec<BodyNote>, BodyError> {
        let mut notes = self.minimum_note()?.into_iter().collect::<Vec<_>>();
        notes.extend(self.outline.notes.iter().cloned());
        let omitted = self.plan.omitted.iter();
        notes.extend(omitted.map(|(place, why)| BodyNote::MarkerOmitted {
            place: *place,
            why: *why,
        }));
        if let (Some(blocks), Some(lookback)) = (self.plan.out_of_reach, self.rules.lookback_blocks)
        {
            let lookback = lookback as usize;
            notes.push(BodyNote::OutOfReach { blocks, lookback });
        }
        Ok(notes)
    }

    fn minimum_note(&self) -> Result<Option<BodyNote>, BodyError> {
        let Some(provider) = self.api.provider() else {
            return Ok(None);
        };
        let limits = self.options.limits()?;
        let row = limits.minimum(provider, &self.signed.model);
        let (Some(minimum), Some(row)) = (self.rules.minimum_tokens, row) else {
            return Ok(Some(BodyNote::UnknownMinimum));
        };
        let tokens = self.signed.tokens();
        Ok((tokens < minimum).then(|| BodyNote::BelowMinimum {
            tokens,
            minimum,
            source: row.source.clone(),
            date: row.date,
        }))
    }

    /// A call's arguments as the JSON object that they are, to the letter.
    pub(super) fn arguments(
        &self,
        block: &Block<'_>,
        call: &'a ToolCall,
    ) -> Result<Ordered<'a>, BodyError> {
        // Some models write nothing for a tool that takes nothing.
        if call.arguments.trim().is_empty() {
            return Ok(object([]));
        }
        let error = match json::parse(&call.arguments) {
            Ok(node) if matches!(node.value, Value::Object(_)) => {
                return Ok(raw(call.arguments.as_str()));
            }
            Ok(_) => None,
            Err(error) => Some(error),
        };
        let (api, segment) = (self.api, block.segment.clone());
        Err(BodyError::Arguments {
            api,
            segment,
            error,
        })
    }

    /// Text that the endpoint takes as a block of its own.
    pub(super) fn visible(
        &self,
        block: &Block<'_>,
        text: &'a str,
    ) -> Result<Ordered<'a>, BodyError> {
        if !text.trim().is_empty() {
            return Ok(Ordered::Text(text.into()));
        }
        let (api, segment) = (self.api, block.segment.clone());
        Err(BodyError::Blank { api, segment })
    }

    pub(super) fn unknown_call(&self, block: &Block<'_>) -> BodyError {
        let (api, segment) = (self.api, block.segment.clone());
        BodyError::UnknownCall { api, segment }
    }
}

/// What the prompt decides, even where this one has none of it.
fn content_key(api: Api, name: &str) -> bool {
    match api {
        Api::OpenAiResponses => matches!(name, "model" | "tools" | "input" | "instructions"),
        Api::AnthropicMessages | Api::AnthropicVertex => {
            matches!(
                name,
                "model" | "tools" | "system" | "messages" | "cache_control"
            )
        }
        Api::BedrockConverse => matches!(name, "toolConfig" | "system" | "messages"),
        Api::GeminiContent => matches!(
            name,
            "systemInstruction" | "tools" | "contents" | "cachedContent"
        ),
        Api::OpenAiChat
        | Api::AzureChat
        | Api::DeepSeekChat
        | Api::DashScopeChat
        | Api::VllmChat
        | Api::SglangChat => matches!(name, "model" | "tools" | "messages"),
    }
}

impl BodyOptions {
    fn limits(&self) -> Result<&Limits, BodyError> {
        static PUBLISHED: OnceLock<Result<Limits, LimitsError>> = OnceLock::new();
        match &self.limits {
            Some(limits) => Ok(limits),
            None => match PUBLISHED.get_or_init(limits) {
                Ok(limits) => Ok(limits),
                Err(error) => Err(BodyError::Limits(error.clone())),
            },
        }
    }
}
