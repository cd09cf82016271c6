//! A parsed template: everything that a rule may ask about it.

use std::{borrow::Cow, collections::BTreeMap};

use headwater_text::Span;

use crate::{
    dialect::Dialect,
    document::Note,
    expression::{Atom, AtomKind},
    flow::lay_out,
    front_matter::{self, Volatility},
    marks::{Mark, MarkKind, inner},
    measure::{Cached, measure},
    part::{ApiKind, Marker, Part, PartKind},
    piece::Piece,
    problem::Problem,
    role,
    source::Source,
    syntax::{self, atoms::variable},
    tree::{Comment, Node},
    units::{Unit, load_all},
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
    /// Static text behind it is not cached.
    cacheable_end: usize,
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

/// What a reader of a format knows about a template before it is parsed.
pub(crate) struct Draft {
    pub(crate) source: Source,
    pub(crate) dialect: Dialect,
    /// Where the prompt begins.
    pub(crate) body_start: usize,
    pub(crate) declared: BTreeMap<String, Volatility>,
    pub(crate) parts: Vec<Part>,
    pub(crate) markers: Vec<Marker>,
    pub(crate) api: Option<ApiKind>,
    pub(crate) label: Option<String>,
    /// It is known to be a chat template; else its text tells.
    pub(crate) is_chat_template: bool,
    /// It writes messages as JSON, with tags between them.
    pub(crate) is_json_chat: bool,
    pub(crate) problems: Vec<Problem>,
}

impl Draft {
    /// A draft of a text that is all in one language.
    pub(crate) fn new(source: Source, dialect: Dialect) -> Self {
        Self {
            source,
            dialect,
            body_start: 0,
            declared: BTreeMap::new(),
            parts: Vec::new(),
            markers: Vec::new(),
            api: None,
            label: None,
            is_chat_template: false,
            is_json_chat: false,
            problems: Vec::new(),
        }
    }

    /// Reads the top of the text for declarations.
    pub(crate) fn with_front_matter(mut self) -> Self {
        let front = front_matter::read(self.source.text(), self.dialect, &mut self.problems);
        self.body_start = front.end;
        self.declared = front.volatility;
        self
    }

    /// Reads the top of a string: only a comment that is ours, since `---` is text there.
    pub(crate) fn with_front_matter_of_strings(self) -> Self {
        if self.source.text().starts_with("---") {
            return self;
        }
        self.with_front_matter()
    }

    /// Parses it; files that it names are given by `load`. Notes are in bytes of the template.
    pub(crate) fn finish(
        self,
        load: &dyn Fn(&str) -> Option<Vec<u8>>,
        notes: &mut Vec<Note>,
    ) -> Template {
        let source = self.source.clone();
        Template::assemble(self, source.text(), load, notes)
    }
}

impl Template {
    /// Parses a source that stands alone. What cannot be understood is found in
    /// [`problems`](Self::problems).
    pub fn parse(source: Source, dialect: Dialect) -> Self {
        let draft = Draft::new(source, dialect).with_front_matter();
        draft.finish(&|_| None, &mut Vec::new())
    }

    fn assemble(
        mut draft: Draft,
        text: &str,
        load: &dyn Fn(&str) -> Option<Vec<u8>>,
        notes: &mut Vec<Note>,
    ) -> Self {
        let mut problems = std::mem::take(&mut draft.problems);
        let (marks, tree) = read_parts(text, &draft, &mut problems);
        let mut units = vec![Unit {
            name: "".into(),
            text: Cow::Borrowed(text),
            tree,
        }];
        load_all(&mut units, draft.dialect, load, notes);
        let marks_of = if draft.is_json_chat {
            role::json_marks
        } else {
            role::marks
        };
        let mut laid_out = lay_out(&units, marks_of);
        notes.append(&mut laid_out.notes);
        let cached = cached(draft.api, &draft.markers);
        let (pieces, variants) = measure(laid_out.laid, &laid_out.flow, cached);
        problems.sort_by_key(|problem| problem.span);
        let texts = spans(&marks, MarkKind::Text);
        let cacheable_end = match cached {
            Cached::Everything => text.len(),
            Cached::UpToLastMarker => draft.markers.last().map_or(text.len(), |marker| marker.at),
        };
        Self {
            dialect: draft.dialect,
            body_start: draft.body_start,
            text_bytes_from: sums_from(&texts, cacheable_end),
            cacheable_end,
            texts,
            outputs: spans(&marks, MarkKind::Output),
            comments: comments(text, &marks, draft.dialect),
            pieces,
            declared: draft.declared,
            problems,
            parts: draft.parts,
            markers: draft.markers,
            api: draft.api,
            label: draft.label,
            is_chat_template: draft.is_chat_template
                || draft.dialect == Dialect::Jinja && is_chat_template(text),
            variants,
            source: draft.source,
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
        bytes.saturating_sub(offset.min(self.cacheable_end).saturating_sub(text.start))
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

/// Reads a text in one go, or part by part.
fn read_parts(text: &str, draft: &Draft, problems: &mut Vec<Problem>) -> (Vec<Mark>, Vec<Node>) {
    if draft.parts.is_empty() {
        let body = Span::new(draft.body_start, text.len());
        let syntax = syntax::read(draft.dialect, text, body, problems);
        return (syntax.marks, syntax.nodes);
    }
    let (mut marks, mut nodes) = (Vec::new(), Vec::new());
    let mut markers = draft.markers.iter().enumerate().peekable();
    let mut message = None;
    for part in &draft.parts {
        if part.message.is_none() || part.message != message {
            let at = part.span.start;
            let span = Span::new(at, at);
            let role = part.role;
            nodes.push(Node::Role { span, role });
        }
        message = part.message;
        if part.kind == PartKind::History {
            let span = part.span;
            let kind = MarkKind::Output;
            marks.push(Mark { kind, span });
            let value = variable(&text[span.start..span.end], span);
            nodes.push(Node::History { span, value });
            continue;
        }
        let dialect = if part.kind == PartKind::Text {
            draft.dialect
        } else {
            Dialect::Plain
        };
        let mut syntax = syntax::read(dialect, text, part.span, problems);
        marks.append(&mut syntax.marks);
        nodes.append(&mut syntax.nodes);
        while let Some((index, _)) = markers.next_if(|(_, marker)| marker.at <= part.span.end) {
            nodes.push(Node::Marker(index));
        }
    }
    (marks, nodes)
}

/// A provider that only caches up to markers caches all if the mark is at the top of the request.
fn cached(api: Option<ApiKind>, markers: &[Marker]) -> Cached {
    let needs_markers = matches!(api, Some(ApiKind::Anthropic | ApiKind::Bedrock) | None);
    let is_marked = !markers.is_empty() && markers.iter().all(|marker| marker.part.is_some());
    if needs_markers && is_marked {
        Cached::UpToLastMarker
    } else {
        Cached::Everything
    }
}

/// For each text, how many bytes of text stand in it and behind it up to `end`.
fn sums_from(texts: &[Span], end: usize) -> Vec<usize> {
    let mut sum = 0;
    let mut sums: Vec<usize> = texts
        .iter()
        .rev()
        .map(|text| {
            sum += text.end.min(end).saturating_sub(text.start);
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

fn comments(text: &str, marks: &[Mark], dialect: Dialect) -> Vec<Comment> {
    spans(marks, MarkKind::Comment)
        .into_iter()
        .map(|span| {
            let tag = &text[span.start..span.end];
            let said = match dialect {
                Dialect::Jinja => inner(tag),
                // `{{!-- … --}}`, `{{- /* … */ -}}`
                _ => tag.trim_matches(|c: char| {
                    c.is_whitespace() || matches!(c, '{' | '}' | '!' | '-' | '~' | '/' | '*')
                }),
            };
            Comment {
                span,
                text: said.to_owned(),
            }
        })
        .collect()
}
