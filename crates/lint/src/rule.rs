//! A checked rule.

use std::fmt;

use headwater_template::Volatility;

use crate::{
    finding::Severity,
    fix_rule::FixRule,
    pattern::Patterns,
    rule_file::{self, FileError, MatchFile, ReorderedFile, RuleFile},
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
    /// Anything else.
    Other,
}

impl Family {
    /// Its cost is paid by every request, not only once two copies of a text part.
    pub fn costs_every_request(self) -> bool {
        matches!(self, Self::Order | Self::Values | Self::Serialization)
    }
}

/// What a rule looks for. Closed: each kind is one file of this crate.
#[derive(Clone, Debug)]
pub(crate) enum Matcher {
    Value {
        declared: Option<Volatility>,
        names: Patterns,
        functions: Patterns,
    },
    Condition,
    Unknown {
        static_names: Patterns,
    },
    Reordered(Reordered),
    Characters {
        classes: Vec<String>,
        grouping: Grouping,
    },
    Newlines,
    Normalization,
    Seam {
        before: Vec<char>,
    },
    Suppression,
}

/// Parameters of [`Matcher::Reordered`].
#[derive(Clone, Debug)]
pub(crate) struct Reordered {
    pub(crate) place: Place,
    pub(crate) filters: Vec<String>,
    pub(crate) functions: Vec<String>,
    pub(crate) methods: Vec<String>,
    pub(crate) unless_filters: Vec<String>,
    pub(crate) unless_keywords: Vec<String>,
}

/// Where content may be reordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Loop,
    Value,
    Any,
}

/// Which characters make one finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// Those that touch.
    Adjacent,
    /// Those on one line.
    Line,
}

impl Rule {
    /// Reads a rule from its YAML.
    ///
    /// # Errors
    /// The YAML is not a rule; the error names the place and the key.
    pub fn parse(yaml: &str, origin: &str) -> Result<Self, FileError> {
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

impl Matcher {
    fn check(file: MatchFile, yaml: &str, origin: &str) -> Result<Self, FileError> {
        let error = |needle: &str, message: &str| rule_file::at(yaml, origin, needle, message);
        let patterns = |list: &[String]| Patterns::compile(list, yaml, origin);
        let mut found = Vec::new();
        if let Some(value) = file.value {
            let declared = match value.declared.as_deref() {
                None => None,
                Some(name) => Some(Volatility::from_name(name).ok_or_else(|| {
                    error(
                        "declared:",
                        "match.value.declared: expected `semi_static` or `dynamic`",
                    )
                })?),
            };
            found.push(Self::Value {
                declared,
                names: patterns(&value.names)?,
                functions: patterns(&value.functions)?,
            });
        }
        if let Some(unknown) = file.unknown {
            found.push(Self::Unknown {
                static_names: patterns(&unknown.static_names)?,
            });
        }
        if let Some(reordered) = file.reordered {
            let place = Place::from_name(&reordered.r#in).ok_or_else(|| {
                error(
                    "in:",
                    "match.reordered.in: expected `loop`, `value` or `any`",
                )
            })?;
            found.push(Self::Reordered(Reordered::new(place, reordered)));
        }
        if let Some(characters) = file.characters {
            let grouping = if characters.once_a_line {
                Grouping::Line
            } else {
                Grouping::Adjacent
            };
            found.push(Self::Characters {
                classes: characters.classes,
                grouping,
            });
        }
        found.extend(file.seam.map(|seam| Self::Seam {
            before: seam.before,
        }));
        found.extend(file.condition.map(|_| Self::Condition));
        found.extend(file.newlines.map(|_| Self::Newlines));
        found.extend(file.normalization.map(|_| Self::Normalization));
        found.extend(file.suppression.map(|_| Self::Suppression));
        match (found.pop(), found.is_empty()) {
            (Some(matcher), true) => Ok(matcher),
            (None, _) => Err(error(
                "match:",
                "match: expected one kind, as in `match: {newlines: {}}`",
            )),
            (Some(_), false) => Err(error(
                "match:",
                "match: expected one kind, found several; make two rules",
            )),
        }
    }
}

impl Reordered {
    fn new(place: Place, file: ReorderedFile) -> Self {
        Self {
            place,
            filters: file.filters,
            functions: file.functions,
            methods: file.methods,
            unless_filters: file.unless_filters,
            unless_keywords: file.unless_keywords,
        }
    }
}

impl Place {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "loop" => Some(Self::Loop),
            "value" => Some(Self::Value),
            "any" => Some(Self::Any),
            _ => None,
        }
    }
}
