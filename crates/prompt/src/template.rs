//! A prompt from a template: its parts by volatility become the segments.

use headwater_template::{PromptTemplate, RenderOptions, Values};

use crate::{Cleaning, Error, Prompt, PromptDraft, Segment, Volatility};

impl Prompt {
    /// Renders a template and takes its parts as segments without roles, named by volatility.
    ///
    /// The template writes the roles' markers itself, so the text goes to an endpoint that takes
    /// text. [`Cleaning::Verbatim`] signs exactly what the template prints;
    /// [`Cleaning::ByVolatility`] also ends every static and semi-static part with a line end,
    /// which parts a sentence whose value stands in the middle of a line.
    ///
    /// ```
    /// use headwater::{
    ///     BytesTokenizer, Cleaning, Prompt, SignOptions,
    ///     templates::{PromptTemplate, RenderOptions, Source, Values},
    /// };
    ///
    /// let source = Source::from_bytes(b"\
    /// {# headwater: {volatility: {question: dynamic}} #}
    /// You answer questions about the harbour. You never guess, and name the table you read.
    /// {{ question }}")?;
    /// let template = PromptTemplate::load(source)?;
    /// let sign = |question| -> Result<_, Box<dyn std::error::Error>> {
    ///     let values = Values::new().with("question", question);
    ///     let prompt = Prompt::from_template(
    ///         &template, &values, &RenderOptions::default(), Cleaning::Verbatim)?;
    ///     Ok(prompt.sign(&BytesTokenizer, &SignOptions::default())?)
    /// };
    /// let (tide, crane) = (sign("When is high tide?")?, sign("Where is crane two?")?);
    /// assert_eq!(tide.signature().rungs()[0], crane.signature().rungs()[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The template cannot be rendered with these values, or as [`PromptDraft::build`].
    pub fn from_template(
        template: &PromptTemplate,
        values: &Values,
        options: &RenderOptions,
        cleaning: Cleaning,
    ) -> Result<Self, Error> {
        let mut draft = PromptDraft::new();
        for (volatility, text) in template.render(values, options).map_err(Error::Template)? {
            let segment = Segment {
                cleaning,
                ..Segment::new(text).name(volatility.as_str())
            };
            draft.push(volatility.into(), segment)?;
        }
        Ok(draft.build()?)
    }
}

impl From<headwater_template::Volatility> for Volatility {
    fn from(volatility: headwater_template::Volatility) -> Self {
        match volatility {
            headwater_template::Volatility::Static => Self::Static,
            headwater_template::Volatility::SemiStatic => Self::SemiStatic,
            headwater_template::Volatility::Dynamic => Self::Dynamic,
        }
    }
}
