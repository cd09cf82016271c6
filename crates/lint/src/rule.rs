//! A checked rule.

use std::fmt;

use headwater_template::Template;

use crate::{
    finding::Severity,
    fix_rule::FixRule,
    matcher::Matcher,
    rule_file::{self, FileError, RuleFile},
};

/// One rule: what it looks for, why it costs, and examples.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name, equal to the name of its file.
    pub id: String,
    /// Its short code.
    pub code: Code,
    /// How bad a finding is.
    pub severity: Severity,
    /// What it finds, in one sentence.
    pub summary: String,
    /// Why that costs, with the engine's rule or measurement that it rests on.
    pub why: String,
    /// The next step, in one line.
    pub help: String,
    /// How a finding is repaired, if that can be done by an edit.
    pub fix: Option<FixRule>,
    /// Examples, run as tests.
    pub examples: Vec<Example>,
    /// Which templates it is about.
    pub applies_to: Scope,
    pub(crate) message: String,
    pub(crate) matcher: Matcher,
}

/// A template before and after the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The name under which the texts are judged; it tells their format.
    pub path: String,
    /// The rule finds exactly one fault in it, and no rule another one.
    pub bad: String,
    /// No rule finds anything in it.
    pub good: String,
    /// What the fix makes of the bad one, if it differs from the good one or there is a fix to show.
    pub fixed: Option<String>,
}

/// A code such as `HW201`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code(String);

impl Code {
    /// `HW` and three digits, the first not 0.
    pub fn new(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("HW")?;
        let right = digits.len() == 3
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.starts_with('0');
        right.then(|| Self(text.to_owned()))
    }

    /// The code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The family that its first digit names.
    pub fn family(&self) -> Family {
        match self.0.as_bytes().get(2) {
            Some(b'1') => Family::Order,
            Some(b'2') => Family::Values,
            Some(b'3') => Family::Serialization,
            Some(b'4') => Family::Text,
            Some(b'5') => Family::Seams,
            Some(b'6') => Family::Providers,
            Some(b'7') => Family::ChatTemplates,
            Some(b'8') => Family::History,
            Some(b'9') => Family::Housekeeping,
            _ => Family::Other,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Families of rules, by the first digit of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Family {
    /// HW1xx: the order of a prompt.
    Order,
    /// HW2xx: volatile values.
    Values,
    /// HW3xx: how values are written out.
    Serialization,
    /// HW4xx: characters and encoding.
    Text,
    /// HW5xx: borders between text and values.
    Seams,
    /// HW6xx: cache markers and minimums of providers.
    Providers,
    /// HW7xx: chat templates of models.
    ChatTemplates,
    /// HW8xx: the history of a conversation.
    History,
    /// HW9xx: the linter's own comments.
    Housekeeping,
    /// Anything else.
    Other,
}

impl Family {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 9] = [
        Self::Order,
        Self::Values,
        Self::Serialization,
        Self::Text,
        Self::Seams,
        Self::Providers,
        Self::ChatTemplates,
        Self::History,
        Self::Housekeeping,
    ];

    /// What its rules are about, as a heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Order => "HW1xx: the order of a prompt",
            Self::Values => "HW2xx: volatile values",
            Self::Serialization => "HW3xx: how values are written out",
            Self::Text => "HW4xx: invisible text and encoding",
            Self::Seams => "HW5xx: seams and blocks",
            Self::Providers => "HW6xx: markers and minimums of providers",
            Self::ChatTemplates => "HW7xx: chat templates",
            Self::History => "HW8xx: history and sessions",
            Self::Housekeeping => "HW9xx: housekeeping",
            Self::Other => "other",
        }
    }

    /// Its cost is paid by every request, not only once two copies of a text part.
    pub fn costs_every_request(self) -> bool {
        matches!(self, Self::Order | Self::Values | Self::Serialization)
    }
}

/// Which templates a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// All of them.
    Any,
    /// Prompts of one's own: everything but the chat templates that come with models.
    Prompts,
    /// The chat templates that come with models.
    ChatTemplates,
    /// Bodies of requests.
    Requests,
}

impl Scope {
    const ALL: [Self; 4] = [
        Self::Any,
        Self::Prompts,
        Self::ChatTemplates,
        Self::Requests,
    ];

    /// `any`, `prompts`, `chat-templates` or `requests`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Prompts => "prompts",
            Self::ChatTemplates => "chat-templates",
            Self::Requests => "requests",
        }
    }

    pub(crate) fn holds(self, template: &Template) -> bool {
        match self {
            Self::Any => true,
            Self::Prompts => !template.is_chat_template(),
            Self::ChatTemplates => template.is_chat_template(),
            Self::Requests => template.api().is_some(),
        }
    }
}

impl Rule {
    /// Reads a rule from its YAML.
    ///
    /// # Errors
    /// The YAML is not a rule; the error names the place and the key.
    pub fn parse(yaml: &str, origin: &str) -> Result<Self, FileError> {
        let rule = Self::parse_own(yaml, origin)?;
        let patterns = rule.matcher.patterns();
        match patterns.iter().find(|pattern| pattern.regex().is_none()) {
            None => Ok(rule),
            Some(pattern) => {
                let written = pattern.written();
                let message = format!("`{written}` is not a regular expression");
                Err(rule_file::at(yaml, origin, written, message))
            }
        }
    }

    /// As [`parse`](Self::parse), for a rule whose expressions a test compiles: a run compiles
    /// those that it asks.
    pub(crate) fn parse_own(yaml: &str, origin: &str) -> Result<Self, FileError> {
        let file: RuleFile = rule_file::read(yaml, origin)?;
        let error = |needle: &str, message: &str| rule_file::at(yaml, origin, needle, message);
        let is_id = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if file.id.is_empty() || !file.id.chars().all(is_id) {
            return Err(error(
                "id:",
                "id: expected lower-case words joined by hyphens",
            ));
        }
        let stem = origin.rsplit(['/', '\\']).next().unwrap_or(origin);
        if stem
            .strip_suffix(".yaml")
            .is_some_and(|stem| stem != file.id)
        {
            return Err(error(
                "id:",
                "id: expected the name of the file without `.yaml`",
            ));
        }
        let code = Code::new(&file.code).ok_or_else(|| {
            error(
                "code:",
                "code: expected `HW` and three digits, as in `HW201`",
            )
        })?;
        let severity = Severity::from_name(&file.severity).ok_or_else(|| {
            error(
                "severity:",
                "severity: expected `error`, `warning` or `info`",
            )
        })?;
        let scope = file.applies_to.as_deref().unwrap_or("any");
        let scope = Scope::ALL.into_iter().find(|each| each.as_str() == scope);
        let applies_to = scope.ok_or_else(|| {
            error(
                "applies_to:",
                "applies_to: expected `any`, `prompts`, `chat-templates` or `requests`",
            )
        })?;
        if file.examples.is_empty() {
            return Err(error(
                "examples:",
                "examples: expected at least one `bad` and `good`",
            ));
        }
        let matcher = Matcher::check(file.r#match, yaml, origin)?;
        let fix = file
            .fix
            .map(|fix| FixRule::check(&fix, yaml, origin))
            .transpose()?;
        let examples = file.examples.into_iter();
        Ok(Self {
            id: file.id,
            code,
            severity,
            summary: file.summary,
            why: file.why.trim().to_owned(),
            help: file.help,
            applies_to,
            fix,
            examples: examples
                .map(|e| Example {
                    path: e.path,
                    bad: e.bad,
                    good: e.good,
                    fixed: e.fixed,
                })
                .collect(),
            message: file.message,
            matcher,
        })
    }
}
