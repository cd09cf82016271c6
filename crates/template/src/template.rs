//! A parsed template: everything that a rule may ask about it.

use std::collections::BTreeMap;

use headwater_text::Span;

use crate::{
    dialect::Dialect,
    expression::{Atom, AtomKind},
    flow::{Piece, lay_out},
    front_matter::{self, Volatility},
    marks::{Mark, MarkKind, inner, scan},
    measure::measure,
    part::{ApiKind, Marker, Part, PartKind},
    problem::Problem,
    source::Source,
    tree::{Comment, build},
};

/// A template, parsed as far as it could be.
#[derive(Debug)]
pub struct Template {
    source: Source,
    dialect: Dialect,
    body_start: usize,
    texts: Vec<Span>,
    /// Bytes of each static text and all behind it.
    text_bytes_from: Vec<usize>,
    outputs: Vec<Span>,
    comments: Vec<Comment>,
    pieces: Vec<Piece>,
    declared: BTreeMap<String, Volatility>,
    problems: Vec<Problem>,
    parts: Vec<Part>,
    markers: Vec<Marker>,
    api: Option<ApiKind>,
    label: Option<String>,
    is_chat_template: bool,
    variants: u64,
}

impl Template {
    /// Parses a source. What cannot be understood is found in [`problems`](Self::problems).
    pub fn parse(source: Source, dialect: Dialect) -> Self {
        let mut problems = Vec::new();
        let text = source.text();
        let front = front_matter::read(text, dialect, &mut problems);
        let marks = match dialect {
            Dialect::Jinja => scan(text, front.end, &mut problems),
            Dialect::Plain => whole(text, front.end),
        };
        let tree = build(text, &marks, &mut problems);
        let (laid, flow) = lay_out(text, &tree);
        let pieces = measure(laid, &flow);
        problems.sort_by_key(|problem| problem.span);
        let texts = spans(&marks, MarkKind::Text);
        Self {
            dialect,
            body_start: front.end,
            text_bytes_from: sums_from(&texts),
            texts,
            outputs: spans(&marks, MarkKind::Output),
            comments: comments(text, &marks),
            pieces,
            declared: front.volatility,
            problems,
            parts: Vec::new(),
            markers: Vec::new(),
            api: None,
            label: None,
            is_chat_template: is_chat_template(source.text()),
            variants: 1,
            source,
        }
    }

    /// Adds volatility declared outside the template; its own front matter wins.
    #[must_use]
    pub fn with_declared(mut self, outside: &BTreeMap<String, Volatility>) -> Self {
        for (name, volatility) in outside {
            self.declared.entry(name.clone()).or_insert(*volatility);
        }
        self
    }

    /// The source.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Its language.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The byte at which the prompt begins, behind byte order mark and front matter.
    pub fn body_start(&self) -> usize {
        self.body_start
    }

    /// Static text, in order of the source, with every byte that the file holds.
    pub fn texts(&self) -> &[Span] {
        &self.texts
    }

    /// How many bytes of static text stand at or behind an offset of the source.
    pub fn static_bytes_from(&self, offset: usize) -> usize {
        let index = self.texts.partition_point(|text| text.end <= offset);
        let (Some(text), Some(bytes)) = (self.texts.get(index), self.text_bytes_from.get(index))
        else {
            return 0;
        };
        bytes - offset.saturating_sub(text.start)
    }

    /// All static text, for counting its tokens.
    pub fn static_text(&self) -> String {
        let texts = self.texts.iter().map(|span| self.source.slice(*span));
        texts.collect()
    }

    /// The tags that print a value, in order of the source.
    pub fn outputs(&self) -> &[Span] {
        &self.outputs
    }

    /// Comments, in order of the source.
    pub fn comments(&self) -> &[Comment] {
        &self.comments
    }

    /// The prompt in the order in which the model reads it.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// What could not be understood, in order of the source.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The strings that the prompt is put together from, in the order in which the model reads them;
    /// empty where the template is written as one text.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Cache markers, in order of the prompt.
    pub fn markers(&self) -> &[Marker] {
        &self.markers
    }

    /// The interface that a request is made for; none for a template.
    pub fn api(&self) -> Option<ApiKind> {
        self.api
    }

    /// The definitions of tools, as they are written in the file, in order of the prompt.
    pub fn tools(&self) -> impl Iterator<Item = Span> + '_ {
        let tools = self.parts.iter().filter(|part| part.kind == PartKind::Tool);
        tools.map(|part| part.span)
    }

    /// Another name of it inside its file: `tool_use`, `prompts[1]`.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// It is a model's chat template: it is given `messages` and writes the marks between them.
    pub fn is_chat_template(&self) -> bool {
        self.is_chat_template
    }

    /// How many different texts conditions can make of what stands ahead of the last static text; 1 if
    /// there is no condition.
    pub fn variants(&self) -> u64 {
        self.variants
    }

    /// The declared volatility of a variable: of its whole path, else of the longest declared start.
    pub fn volatility(&self, atom: &Atom) -> Option<Volatility> {
        if atom.kind != AtomKind::Variable || self.declared.is_empty() {
            return None;
        }
        let mut path = atom.path.as_str();
        loop {
            if let Some(volatility) = self.declared.get(path) {
                return Some(*volatility);
            }
            path = path.rsplit_once('.')?.0;
        }
    }
}

/// Templates of one's own do not ask whether the model is to speak next.
fn is_chat_template(text: &str) -> bool {
    text.contains("messages")
        && (text.contains("add_generation_prompt")
            || text.contains("bos_token")
            || text.contains("raise_exception")
            || (text.contains("message['role']") || text.contains("message.role"))
                && text.contains("<|"))
}

fn whole(text: &str, start: usize) -> Vec<Mark> {
    let span = Span {
        start,
        end: text.len(),
    };
    let mark = Mark {
        kind: MarkKind::Text,
        span,
    };
    if start < text.len() {
        vec![mark]
    } else {
        Vec::new()
    }
}

fn sums_from(texts: &[Span]) -> Vec<usize> {
    let mut sum = 0;
    let mut sums: Vec<usize> = texts
        .iter()
        .rev()
        .map(|text| {
            sum += text.end - text.start;
            sum
        })
        .collect();
    sums.reverse();
    sums
}

fn spans(marks: &[Mark], kind: MarkKind) -> Vec<Span> {
    let of_kind = marks.iter().filter(|mark| mark.kind == kind);
    of_kind.map(|mark| mark.span).collect()
}

fn comments(text: &str, marks: &[Mark]) -> Vec<Comment> {
    spans(marks, MarkKind::Comment)
        .into_iter()
        .map(|span| Comment {
            span,
            text: inner(&text[span.start..span.end]).to_owned(),
        })
        .collect()
}
