//! YAML as values with places, from the parser's events. An alias is the value of its anchor, with the
//! anchor's places; how much aliases may add has a limit.

use std::{borrow::Cow, collections::HashMap};

use headwater_text::Span;
use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{
    MAX_DEPTH,
    value::{Data, Style, Text, Value},
};
use crate::problem::Problem;

/// Longer than any file of prompts; the parser is slow compared with what else is read here.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// Values that all aliases of a file may add: more is an attack, or data.
const MAX_ALIASED: usize = 50_000;
/// Bytes of text that all aliases of a file may add.
const MAX_ALIASED_BYTES: usize = 4 * 1024 * 1024;
/// Characters between two entries of the table of offsets.
const STEP: usize = 128;

/// What was read of a YAML text.
#[derive(Debug, Default)]
pub(crate) struct Yaml<'t> {
    /// The documents that are not empty, in order, up to the first problem.
    pub(crate) documents: Vec<Value<'t>>,
    /// Why what follows was not read.
    pub(crate) problem: Option<Problem>,
    /// The text is too long to be read at all.
    pub(crate) is_too_long: bool,
}

/// Reads all documents of a YAML text that begins at byte `base` of the file.
pub(crate) fn read_yaml(text: &str, base: usize) -> Yaml<'_> {
    if text.len() > MAX_BYTES {
        let message = format!(
            "{} bytes of YAML, more than the {MAX_BYTES} that are read; split the file, or move prompts \
             into files of their own",
            text.len()
        );
        return Yaml {
            problem: Some(Problem::new(Span::new(base, base), message)),
            is_too_long: true,
            ..Yaml::default()
        };
    }
    if opens_too_many(text) {
        return Yaml {
            problem: Some(too_deep(base)),
            ..Yaml::default()
        };
    }
    let mut builder = Builder {
        text,
        base,
        offsets: Offsets::new(text),
        open: Vec::new(),
        anchors: HashMap::new(),
        kept: Size::default(),
        aliased: Size::default(),
        documents: Vec::new(),
    };
    let problem = builder.events().err();
    Yaml {
        documents: builder.documents,
        problem,
        is_too_long: false,
    }
}

/// One line opens many nested values: `- - - -`, `[[[[`.
fn opens_too_many(text: &str) -> bool {
    text.lines().any(|line| {
        let mut depth = 0_usize;
        let opens = |c: char| matches!(c, '-' | '?' | ':' | '[' | '{' | ' ' | '\t');
        for c in line.chars().take_while(|c| opens(*c)) {
            depth += usize::from(!c.is_whitespace());
        }
        // A line of dashes is a rule or a border, not a list in a list.
        depth > MAX_DEPTH && !line.trim().chars().all(|c| c == '-')
    })
}

fn too_deep(at: usize) -> Problem {
    Problem::new(Span::new(at, at), "values nest too deep to be read")
}

/// Bytes of characters, for a parser that counts characters.
struct Offsets<'t> {
    text: &'t str,
    /// Byte of every [`STEP`]th character; empty where every character is one byte.
    table: Vec<usize>,
}

impl<'t> Offsets<'t> {
    fn new(text: &'t str) -> Self {
        let table = if text.is_ascii() {
            Vec::new()
        } else {
            let starts = text.char_indices().map(|(at, _)| at);
            starts.step_by(STEP).collect()
        };
        Self { text, table }
    }

    fn byte(&self, character: usize) -> usize {
        if self.table.is_empty() {
            return character.min(self.text.len());
        }
        let Some(start) = self.table.get(character / STEP).copied() else {
            return self.text.len();
        };
        let mut behind = self.text[start..].char_indices().map(|(at, _)| at);
        behind
            .nth(character % STEP)
            .map_or(self.text.len(), |at| start + at)
    }
}

/// A list or map that is not closed yet.
struct Open<'t> {
    start: usize,
    is_map: bool,
    /// None is 0.
    anchor: usize,
    size: Size,
    items: Vec<Value<'t>>,
    pairs: Vec<(Text<'t>, Value<'t>)>,
    /// The key whose value comes next.
    key: Option<Option<Text<'t>>>,
}

/// How much a value is, with all that is in it.
#[derive(Clone, Copy, Default)]
struct Size {
    values: usize,
    bytes: usize,
}

impl Size {
    fn add(&mut self, other: Self) {
        self.values += other.values;
        self.bytes += other.bytes;
    }

    fn is_too_much(self) -> bool {
        self.values > MAX_ALIASED || self.bytes > MAX_ALIASED_BYTES
    }
}

struct Builder<'t> {
    text: &'t str,
    base: usize,
    offsets: Offsets<'t>,
    open: Vec<Open<'t>>,
    anchors: HashMap<usize, (Value<'t>, Size)>,
    /// What is kept of anchors in case that an alias comes: anchors in anchors count again.
    kept: Size,
    /// What aliases have added so far.
    aliased: Size,
    documents: Vec<Value<'t>>,
}

impl<'t> Builder<'t> {
    fn events(&mut self) -> Result<(), Problem> {
        for event in Parser::new_from_str(self.text) {
            let (event, span) = event.map_err(|error| {
                let at = self.base + self.offsets.byte(error.marker().index());
                Problem::new(
                    Span::new(at, at),
                    format!("not valid YAML: {}", error.info()),
                )
            })?;
            let start = self.offsets.byte(span.start.index());
            let span = Span::new(start, self.offsets.byte(span.end.index()).max(start));
            self.event(event, span)?;
        }
        Ok(())
    }

    fn event(&mut self, event: Event<'t>, span: Span) -> Result<(), Problem> {
        match event {
            Event::Scalar(value, style, anchor, _) => {
                let data = self.scalar(value, style, span);
                let value = self.value(span, data);
                let bytes = value.text().map_or(0, |text| text.value.len());
                let size = Size { values: 1, bytes };
                self.anchored(anchor, &value, size);
                self.push(value, size);
            }
            Event::Alias(anchor) => {
                let (value, size) = self.alias(anchor, span)?;
                self.push(value, size);
            }
            Event::SequenceStart(anchor, _) => self.enter(span, anchor, false)?,
            Event::MappingStart(anchor, _) => self.enter(span, anchor, true)?,
            Event::SequenceEnd | Event::MappingEnd => self.leave(span),
            _ => {}
        }
        Ok(())
    }

    fn value(&self, span: Span, data: Data<'t>) -> Value<'t> {
        let span = Span::new(self.base + span.start, self.base + span.end);
        Value { span, data }
    }

    fn anchored(&mut self, anchor: usize, value: &Value<'t>, size: Size) {
        if anchor == 0 {
            return;
        }
        self.kept.add(size);
        if self.kept.is_too_much() {
            // An alias of it is then one of too much.
            self.anchors.remove(&anchor);
        } else {
            self.anchors.insert(anchor, (value.clone(), size));
        }
    }

    /// A copy of an anchor's value.
    fn alias(&mut self, anchor: usize, span: Span) -> Result<(Value<'t>, Size), Problem> {
        let known = self.anchors.get(&anchor).cloned();
        let is_around = self.open.iter().any(|open| open.anchor == anchor);
        let (value, size) = match known {
            Some(known) => known,
            // It would be part of itself.
            None if is_around => (self.value(span, Data::Other), Size::default()),
            None => return Err(self.too_much(span)),
        };
        self.aliased.add(size);
        if self.aliased.is_too_much() {
            return Err(self.too_much(span));
        }
        Ok((value, size))
    }

    fn too_much(&self, span: Span) -> Problem {
        let at = self.base + span.start;
        let message = format!(
            "anchors and aliases stand for more than {MAX_ALIASED} values or {MAX_ALIASED_BYTES} \
             bytes; write the prompts out, or in files of their own"
        );
        Problem::new(Span::new(at, at), message)
    }

    fn scalar(&self, value: Cow<'t, str>, style: ScalarStyle, span: Span) -> Data<'t> {
        let style = match style {
            ScalarStyle::Plain => Style::YamlPlain,
            ScalarStyle::SingleQuoted => Style::YamlSingle,
            ScalarStyle::DoubleQuoted => Style::YamlDouble,
            ScalarStyle::Literal => Style::YamlLiteral,
            ScalarStyle::Folded => Style::YamlFolded,
        };
        let span = self.written(style, span);
        Data::Text(Text {
            value,
            span: Span::new(self.base + span.start, self.base + span.end),
            style,
        })
    }

    /// Where the text itself is written: without anchor and tag, and a block with its whole first line.
    fn written(&self, style: Style, span: Span) -> Span {
        let named = span.start + properties(&self.text[span.start..span.end]);
        let start = match style {
            // With an anchor or tag, the parser's span begins there.
            Style::YamlLiteral | Style::YamlFolded
                if named > span.start && is_header(&self.text[named..span.end]) =>
            {
                let header = &self.text[named..span.end];
                named + header.find('\n').map_or(header.len(), |at| at + 1)
            }
            Style::YamlLiteral | Style::YamlFolded => {
                let before = self.text[..span.start].trim_end_matches([' ', '\t', '\n', '\r']);
                let header = &self.text[before.len()..span.start];
                before.len() + header.find('\n').map_or(header.len(), |at| at + 1)
            }
            _ => named,
        };
        Span::new(start, span.end)
    }

    fn enter(&mut self, span: Span, anchor: usize, is_map: bool) -> Result<(), Problem> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(self.base + span.start));
        }
        self.open.push(Open {
            start: span.start,
            is_map,
            anchor,
            size: Size::default(),
            items: Vec::new(),
            pairs: Vec::new(),
            key: None,
        });
        Ok(())
    }

    fn leave(&mut self, span: Span) {
        let Some(open) = self.open.pop() else {
            return;
        };
        let data = if open.is_map {
            Data::Map(merged(open.pairs))
        } else {
            Data::List(open.items)
        };
        let value = self.value(Span::new(open.start, span.end.max(open.start)), data);
        let mut size = open.size;
        size.values += 1;
        self.anchored(open.anchor, &value, size);
        self.push(value, size);
    }

    fn push(&mut self, value: Value<'t>, size: Size) {
        let Some(open) = self.open.last_mut() else {
            return self.documents.push(value);
        };
        open.size.add(size);
        if !open.is_map {
            return open.items.push(value);
        }
        match open.key.take() {
            None => {
                let key = match value.data {
                    Data::Text(text) => Some(text),
                    _ => None,
                };
                open.key = Some(key);
            }
            Some(Some(key)) => open.pairs.push((key, value)),
            // A key that is no string names nothing that is looked for.
            Some(None) => {}
        }
    }
}

/// A map with the pairs of the maps under its key `<<` ahead of its own, which count more.
fn merged<'t>(pairs: Vec<(Text<'t>, Value<'t>)>) -> Vec<(Text<'t>, Value<'t>)> {
    let is_merge = |key: &Text<'_>| key.style == Style::YamlPlain && key.value == "<<";
    if !pairs.iter().any(|(key, _)| is_merge(key)) {
        return pairs;
    }
    let (merges, own): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(key, _)| is_merge(key));
    let mut all = Vec::new();
    for (_, value) in merges.into_iter().rev() {
        match value.data {
            Data::Map(pairs) => all.extend(pairs),
            // Of several maps the first counts most.
            Data::List(maps) => {
                for map in maps.into_iter().rev() {
                    if let Data::Map(pairs) = map.data {
                        all.extend(pairs);
                    }
                }
            }
            _ => {}
        }
    }
    all.extend(own);
    all
}

/// A text begins with the first line of a block: `|-`, `>2 # note`.
fn is_header(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    let Some(behind) = line.strip_prefix(['|', '>']) else {
        return false;
    };
    let indicators = |c: char| matches!(c, '+' | '-' | '0'..='9');
    let rest = behind.trim_start_matches(indicators).trim();
    rest.is_empty() || rest.starts_with('#')
}

/// Bytes of anchor and tag before a scalar.
fn properties(raw: &str) -> usize {
    let mut rest = raw;
    while rest.starts_with(['&', '!']) {
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest = rest[word..].trim_start();
    }
    raw.len() - rest.len()
}
