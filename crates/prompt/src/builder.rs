//! The order of a prompt as a type: static, then semi-static, then dynamic, and never back.

use std::marker::PhantomData;

use crate::{Prompt, PromptDraft, PromptError, Segment, Volatility};

/// Builder state: nothing but static segments so far.
#[derive(Debug)]
pub enum Static {}
/// Builder state: the static part is closed.
#[derive(Debug)]
pub enum SemiStatic {}
/// Builder state: only dynamic segments may follow.
#[derive(Debug)]
pub enum Dynamic {}

/// Collects the segments of a [`Prompt`] in the only order that engines can cache.
///
/// What has begun to change cannot stop changing, so a step back does not compile:
///
/// ```compile_fail,E0599
/// headwater::Prompt::builder().dynamic("It is 12:04.").static_("You are a helpful assistant.");
/// ```
///
/// Callers who learn the volatility at run time use [`PromptDraft`].
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct PromptBuilder<State> {
    segments: Vec<(Volatility, Segment)>,
    state: PhantomData<State>,
}

impl Prompt {
    /// Starts a prompt at its most stable end.
    pub fn builder() -> PromptBuilder<Static> {
        PromptBuilder {
            segments: Vec::new(),
            state: PhantomData,
        }
    }
}

impl PromptBuilder<Static> {
    /// Text that is the same for all requests of this template: instructions, tools, examples.
    pub fn static_(self, segment: impl Into<Segment>) -> Self {
        self.then(Volatility::Static, segment.into())
    }

    /// Text of a tenant, user or session. Closes the static part.
    pub fn semi_static(self, segment: impl Into<Segment>) -> PromptBuilder<SemiStatic> {
        self.then(Volatility::SemiStatic, segment.into())
    }
}

impl PromptBuilder<SemiStatic> {
    /// Text of a tenant, user or session.
    pub fn semi_static(self, segment: impl Into<Segment>) -> Self {
        self.then(Volatility::SemiStatic, segment.into())
    }
}

/// The states that a dynamic segment may follow, which is all of them.
impl<State> PromptBuilder<State> {
    /// Text of this request: history, retrieved snippets, clock, question. Closes what is before.
    pub fn dynamic(self, segment: impl Into<Segment>) -> PromptBuilder<Dynamic> {
        self.then(Volatility::Dynamic, segment.into())
    }

    /// Cleans the segments.
    ///
    /// # Errors
    /// As [`PromptDraft::build`]; segments out of order cannot happen here.
    pub fn build(self) -> Result<Prompt, PromptError> {
        let mut draft = PromptDraft::new();
        for (volatility, segment) in self.segments {
            draft.push(volatility, segment)?;
        }
        draft.build()
    }

    fn then<Next>(mut self, volatility: Volatility, segment: Segment) -> PromptBuilder<Next> {
        self.segments.push((volatility, segment));
        PromptBuilder {
            segments: self.segments,
            state: PhantomData,
        }
    }
}
