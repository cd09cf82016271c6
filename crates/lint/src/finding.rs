//! What a rule found.

use headwater_template::{SourceFile, Template};
use headwater_text::{Position, Span};

use crate::{
    fix::Fix,
    fixer,
    rule::{Code, Rule},
};

/// How bad a finding is; the worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Costs something, or will.
    Warning,
    /// Costs most of what stands behind it.
    Error,
}

impl Severity {
    /// `error`, `warning` or `info`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// The severity of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Info, Self::Warning, Self::Error]
            .into_iter()
            .find(|severity| severity.as_str() == name)
    }
}

/// A place where a rule fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Id of the rule.
    pub rule: String,
    /// Code of the rule.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// Where, in bytes of the file.
    pub span: Span,
    /// Where it begins.
    pub position: Position,
    /// One behind its last character.
    pub end: Position,
    /// What was found. Names in it are escaped: safe to print.
    pub message: String,
    /// The next step.
    pub help: String,
    /// Static tokens that cannot be reused because of it, or, for characters, that are lost when
    /// another copy of the text does not have it. An estimate of [`estimate_tokens`].
    pub cost_tokens: usize,
    /// The same in bytes of static text.
    pub cost_bytes: usize,
    /// How the file can be edited so that it is gone.
    pub fix: Option<Fix>,
    /// Other places that it is about.
    pub related: Vec<Related>,
}

/// Another place of the file that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// Where, in bytes of the file.
    pub span: Span,
    /// What is there.
    pub message: &'static str,
}

/// Four bytes a token, rounded up: the field's rule of thumb for English text.
pub fn estimate_tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

impl Finding {
    /// A finding at a span of the template.
    pub(crate) fn new(rule: &Rule, template: &Template, span: Span, cost_bytes: usize) -> Self {
        let source = template.source();
        let mut finding = Self::in_file(rule, source.file(), source.in_file(span), cost_bytes);
        finding.fix = fixer::fix_for(rule, template, span);
        finding
    }

    /// A finding at a span of the file, without a fix.
    pub(crate) fn in_file(rule: &Rule, file: &SourceFile, span: Span, cost_bytes: usize) -> Self {
        Self {
            rule: rule.id.clone(),
            code: rule.code.clone(),
            severity: rule.severity,
            span,
            position: file.position(span.start),
            end: file.position(span.end),
            message: rule.message.clone(),
            help: rule.help.clone(),
            cost_tokens: estimate_tokens(cost_bytes),
            cost_bytes,
            fix: None,
            related: Vec::new(),
        }
    }

    /// A finding at a place of the file that is not in the text of the template.
    pub(crate) fn at_file(
        rule: &Rule,
        template: &Template,
        in_file: Span,
        cost_bytes: usize,
    ) -> Self {
        let file = template.source().file();
        Self {
            span: in_file,
            position: file.position(in_file.start),
            end: file.position(in_file.end),
            fix: None,
            ..Self::new(rule, template, Span { start: 0, end: 0 }, cost_bytes)
        }
    }

    /// The dearest first, then in order of the file.
    pub(crate) fn by_cost(a: &Self, b: &Self) -> std::cmp::Ordering {
        (b.cost_tokens, a.span, &a.code).cmp(&(a.cost_tokens, b.span, &b.code))
    }

    /// Adds another place of the template that it is about.
    pub(crate) fn related_to(
        mut self,
        template: &Template,
        span: Span,
        message: &'static str,
    ) -> Self {
        let span = template.source().in_file(span);
        self.related.push(Related { span, message });
        self
    }

    /// Puts a value in the place of `{key}` in the message.
    pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
        self.message = self
            .message
            .replace(&format!("{{{key}}}"), &headwater_text::shown(value));
        self
    }
}
