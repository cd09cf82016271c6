//! What a rule looks for: a closed set, each kind found by one file of this crate.

use crate::{
    pattern::{Pattern, Patterns},
    rule_file::{
        self, CharactersFile, CodeFile, FileError, MatchFile, ReorderedFile, TextFile, ValueFile,
    },
};
use headwater_template::Volatility;

/// What a rule looks for.
#[derive(Clone, Debug)]
pub(crate) enum Matcher {
    /// A value that is less stable than the static text behind it.
    Value(Value),
    /// A condition of such a value.
    Condition,
    /// Values about which nothing is known.
    Unknown { static_names: Patterns },
    /// Conditions about which nothing is known.
    Fork { static_names: Patterns },
    /// Content in an unstable order or form.
    Reordered(Reordered),
    /// Text of another file that is chosen at run time.
    Include,
    /// The same text twice.
    Duplicate { min_bytes: usize },
    /// Objects of JSON with the same keys in another order.
    JsonOrder,
    /// Expressions in static text.
    Text(Search),
    /// Expressions in the code of tags.
    Code(CodeSearch),
    /// Characters by class.
    Characters {
        classes: Vec<String>,
        grouping: Grouping,
    },
    /// Letters of two scripts in one word.
    Lookalikes,
    /// Ends of lines.
    LineEnds(LineEnds),
    /// Text that is not in form NFC.
    Normalization,
    /// White space before the first value.
    Seam(Seam),
    /// Text that a turn has only in some place of the conversation.
    Turn(Topic),
    /// What a chat template writes where the model begins to speak.
    Opening(Opening),
    /// How the messages of a conversation are printed.
    History(HistoryFault),
    /// Cache markers of a request.
    Marker(MarkerFault),
    /// Other fields of a request.
    Request(RequestFault),
    /// A prefix that is too short for its provider.
    Minimum(Vec<Minimum>),
    /// No cache key where the model needs one, for prefixes from the minimum on.
    CacheKey(Vec<Minimum>),
    /// A comment that suppresses nothing.
    Suppression,
}

/// Parameters of [`Matcher::Value`].
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) declared: Option<Volatility>,
    pub(crate) grain: Option<Grain>,
    pub(crate) names: Patterns,
    pub(crate) functions: Patterns,
}

/// How often a clock that is printed says something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    Moment,
    Day,
}

/// Parameters of [`Matcher::Reordered`].
#[derive(Clone, Debug)]
pub(crate) struct Reordered {
    pub(crate) place: Place,
    pub(crate) variables: Patterns,
    pub(crate) filters: Vec<String>,
    pub(crate) functions: Vec<String>,
    pub(crate) methods: Vec<String>,
    pub(crate) after_filters: Vec<String>,
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

/// Parameters of [`Matcher::Text`].
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) unless: Vec<Pattern>,
    pub(crate) at: SearchPlace,
}

/// Where in the prompt an expression is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchPlace {
    Start,
    Anywhere,
}

/// Parameters of [`Matcher::Code`].
#[derive(Clone, Debug)]
pub(crate) struct CodeSearch {
    /// Every one of them is found in the tag.
    pub(crate) all: Vec<Pattern>,
    pub(crate) unless: Vec<Pattern>,
    /// What the tag reads is declared to be this stable.
    pub(crate) unless_declared: Option<Volatility>,
    pub(crate) place: CodePlace,
}

/// Which tags are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodePlace {
    Any,
    /// Those that print.
    Values,
    /// Those in a loop over the messages of a conversation.
    History,
    /// Any, and each condition together with the values that are printed under it.
    Arms,
    /// Those with static text or the history of a conversation behind them.
    AheadOfPrompt,
}

/// Parameters of [`Matcher::Seam`].
#[derive(Clone, Debug)]
pub(crate) struct Seam {
    pub(crate) before: Vec<char>,
    /// Ids of rules whose values begin with a digit.
    pub(crate) begins_with_digit: Vec<String>,
}

/// Which characters make one finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// Those that touch.
    Adjacent,
    /// Those on one line.
    Line,
}

/// A minimum of a provider, with where it stands written.
#[derive(Clone, Debug)]
pub(crate) struct Minimum {
    pub(crate) api: String,
    /// Parts of model names; the longest that occurs in a name wins; empty for all.
    pub(crate) models: Vec<String>,
    pub(crate) tokens: usize,
}

/// Makes a closed set of names for a rule's file.
macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($variant),+ }

        impl $name {
            const NAMES: &'static [(&'static str, Self)] = &[$(($text, Self::$variant)),+];

            fn read(text: &str, key: &str, yaml: &str, origin: &str) -> Result<Self, FileError> {
                let found = Self::NAMES.iter().find(|(name, _)| *name == text);
                found.map(|(_, value)| *value).ok_or_else(|| {
                    let names: Vec<_> = Self::NAMES.iter().map(|(name, _)| format!("`{name}`")).collect();
                    rule_file::at(yaml, origin, text, format!("{key}: expected one of {}", names.join(", ")))
                })
            }
        }
    };
}

names! {
    /// Parameters of [`Matcher::LineEnds`].
    LineEnds {
        Mixed = "mixed",
        Crlf = "crlf",
        TrailingSpace = "trailing-space",
        NoFinalNewline = "no-final-newline",
    }
}
names! {
    /// What a turn has only in some place.
    Topic { Reasoning = "reasoning", Tools = "tools", Other = "other" }
}
names! {
    /// What is wrong where the model begins.
    Opening { EmptyThinking = "empty-thinking", ToolCallNewline = "tool-call-newline" }
}
names! {
    /// What is wrong with a printed history.
    HistoryFault {
        Window = "window",
        Newest = "newest-first",
        Clock = "clock",
        ValueAhead = "value-ahead",
        TextBehind = "text-behind",
    }
}
names! {
    /// What is wrong with markers.
    MarkerFault {
        Volatile = "volatile",
        TooMany = "too-many",
        TtlOrder = "ttl-order",
        TtlUnknown = "ttl-unknown",
        Missing = "missing",
        InLastTurnOnly = "in-last-turn-only",
        Lookback = "lookback",
        Repeated = "repeated",
        ListStart = "list-start",
        ToolResult = "tool-result",
    }
}
names! {
    /// What is wrong with other fields of a request.
    RequestFault {
        RandomKey = "random-key",
        KeyOrder = "key-order",
        VaryingParameter = "varying-parameter",
        AutomaticMarker = "automatic-marker",
    }
}

impl Matcher {
    pub(crate) fn check(file: MatchFile, yaml: &str, origin: &str) -> Result<Self, FileError> {
        let error = |message: &str| rule_file::at(yaml, origin, "match:", message);
        let mut found = Vec::new();
        if let Some(value) = file.value {
            found.push(Self::Value(Value::check(&value, yaml, origin)?));
        }
        if let Some(unknown) = file.unknown {
            found.push(Self::Unknown {
                static_names: Patterns::new(&unknown.static_names),
            });
        }
        if let Some(fork) = file.fork {
            found.push(Self::Fork {
                static_names: Patterns::new(&fork.static_names),
            });
        }
        if let Some(reordered) = file.reordered {
            found.push(Self::Reordered(Reordered::check(reordered, yaml, origin)?));
        }
        if let Some(text) = file.text {
            found.push(Self::Text(Search::check(&text, yaml, origin)?));
        }
        if let Some(code) = file.code {
            found.push(Self::Code(CodeSearch::check(&code, yaml, origin)?));
        }
        if let Some(line_ends) = file.line_ends {
            let form = LineEnds::read(&line_ends, "match.line_ends", yaml, origin)?;
            found.push(Self::LineEnds(form));
        }
        if let Some(topic) = file.turn {
            found.push(Self::Turn(Topic::read(&topic, "match.turn", yaml, origin)?));
        }
        if let Some(opening) = file.opening {
            let opening = Opening::read(&opening, "match.opening", yaml, origin)?;
            found.push(Self::Opening(opening));
        }
        if let Some(fault) = file.history {
            let fault = HistoryFault::read(&fault, "match.history", yaml, origin)?;
            found.push(Self::History(fault));
        }
        if let Some(fault) = file.marker {
            let fault = MarkerFault::read(&fault, "match.marker", yaml, origin)?;
            found.push(Self::Marker(fault));
        }
        if let Some(fault) = file.request {
            let fault = RequestFault::read(&fault, "match.request", yaml, origin)?;
            found.push(Self::Request(fault));
        }
        found.extend(file.characters.map(Self::characters));
        found.extend(file.seam.map(|seam| {
            Self::Seam(Seam {
                before: seam.before,
                begins_with_digit: seam.begins_with_digit,
            })
        }));
        found.extend(file.duplicate.map(|duplicate| Self::Duplicate {
            min_bytes: duplicate.min_bytes,
        }));
        found.extend(file.minimum.map(|rows| Self::Minimum(minimums(rows))));
        found.extend(file.cache_key.map(|rows| Self::CacheKey(minimums(rows))));
        found.extend(file.condition.map(|_| Self::Condition));
        found.extend(file.include.map(|_| Self::Include));
        found.extend(file.json_order.map(|_| Self::JsonOrder));
        found.extend(file.lookalikes.map(|_| Self::Lookalikes));
        found.extend(file.normalization.map(|_| Self::Normalization));
        found.extend(file.suppression.map(|_| Self::Suppression));
        match (found.pop(), found.is_empty()) {
            (Some(matcher), true) => Ok(matcher),
            (None, _) => Err(error(
                "match: expected one kind, as in `match: {line_ends: mixed}`",
            )),
            (Some(_), false) => Err(error(
                "match: expected one kind, found several; make two rules",
            )),
        }
    }

    /// All regular expressions of the rule.
    pub(crate) fn patterns(&self) -> Vec<&Pattern> {
        match self {
            Self::Value(value) => value.names.iter().chain(value.functions.iter()).collect(),
            Self::Unknown { static_names } | Self::Fork { static_names } => {
                static_names.iter().collect()
            }
            Self::Reordered(reordered) => reordered.variables.iter().collect(),
            Self::Text(search) => search.patterns.iter().chain(&search.unless).collect(),
            Self::Code(search) => search.all.iter().chain(&search.unless).collect(),
            _ => Vec::new(),
        }
    }

    fn characters(file: CharactersFile) -> Self {
        Self::Characters {
            classes: file.classes,
            grouping: if file.once_a_line {
                Grouping::Line
            } else {
                Grouping::Adjacent
            },
        }
    }
}

fn minimums(rows: Vec<rule_file::MinimumFile>) -> Vec<Minimum> {
    let row = |row: rule_file::MinimumFile| Minimum {
        api: row.api,
        models: row.models,
        tokens: row.tokens,
    };
    rows.into_iter().map(row).collect()
}

impl Value {
    fn check(file: &ValueFile, yaml: &str, origin: &str) -> Result<Self, FileError> {
        let error = |needle: &str, message: &str| rule_file::at(yaml, origin, needle, message);
        let declared = match file.declared.as_deref() {
            None => None,
            Some(name) => Some(Volatility::from_name(name).ok_or_else(|| {
                error(
                    "declared:",
                    "match.value.declared: expected `semi_static` or `dynamic`",
                )
            })?),
        };
        let grain = match file.grain.as_deref() {
            None => None,
            Some("moment") => Some(Grain::Moment),
            Some("day") => Some(Grain::Day),
            Some(_) => {
                return Err(error(
                    "grain:",
                    "match.value.grain: expected `moment` or `day`",
                ));
            }
        };
        Ok(Self {
            declared,
            grain,
            names: Patterns::new(&file.names),
            functions: Patterns::new(&file.functions),
        })
    }
}

impl Reordered {
    fn check(file: ReorderedFile, yaml: &str, origin: &str) -> Result<Self, FileError> {
        let place = match file.r#in.as_str() {
            "loop" => Place::Loop,
            "value" => Place::Value,
            "any" => Place::Any,
            _ => {
                let message = "match.reordered.in: expected `loop`, `value` or `any`";
                return Err(rule_file::at(yaml, origin, "in:", message));
            }
        };
        Ok(Self {
            place,
            variables: Patterns::new(&file.variables),
            filters: file.filters,
            functions: file.functions,
            methods: file.methods,
            after_filters: file.after_filters,
            unless_filters: file.unless_filters,
            unless_keywords: file.unless_keywords,
        })
    }
}

impl Search {
    fn check(file: &TextFile, yaml: &str, origin: &str) -> Result<Self, FileError> {
        let at = match file.at.as_deref() {
            None => SearchPlace::Anywhere,
            Some("start") => SearchPlace::Start,
            Some(_) => {
                let message = "match.text.at: expected `start`, or nothing";
                return Err(rule_file::at(yaml, origin, "at:", message));
            }
        };
        Ok(Self {
            patterns: searched(&file.patterns),
            unless: searched(&file.unless),
            at,
        })
    }
}

impl CodeSearch {
    fn check(file: &CodeFile, yaml: &str, origin: &str) -> Result<Self, FileError> {
        let place = match file.r#in.as_str() {
            "any" => CodePlace::Any,
            "arms" => CodePlace::Arms,
            "values" => CodePlace::Values,
            "history" => CodePlace::History,
            "ahead" => CodePlace::AheadOfPrompt,
            _ => {
                let message =
                    "match.code.in: expected `any`, `arms`, `values`, `history` or `ahead`";
                return Err(rule_file::at(yaml, origin, "in:", message));
            }
        };
        let unless_declared = match file.unless_declared.as_deref() {
            None => None,
            Some(name) => Some(Volatility::from_name(name).ok_or_else(|| {
                let message =
                    "match.code.unless_declared: expected `static`, `semi_static` or `dynamic`";
                rule_file::at(yaml, origin, "unless_declared:", message)
            })?),
        };
        // `HISTORY` stands for the names of conversations.
        let expand = |list: &[String]| -> Vec<String> {
            let history = format!("(?:{})", crate::code::HISTORY);
            list.iter()
                .map(|pattern| pattern.replace("HISTORY", &history))
                .collect()
        };
        Ok(Self {
            all: searched(&expand(&file.all)),
            unless: searched(&expand(&file.unless)),
            unless_declared,
            place,
        })
    }
}

fn searched(list: &[String]) -> Vec<Pattern> {
    list.iter().map(|written| Pattern::part(written)).collect()
}
