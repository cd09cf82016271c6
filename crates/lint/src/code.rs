//! The tags of a template as they are written, and the bodies that Jinja's statements enclose.

use std::{cell::OnceCell, sync::LazyLock};

use headwater_template::{Dialect, PieceKind, Template};
use headwater_text::Span;
use regex::Regex;

use crate::{pattern::own, work};

/// A tag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag<'t> {
    /// With its delimiters.
    pub(crate) span: Span,
    /// It prints its value.
    pub(crate) prints: bool,
    /// Without delimiters, trim marks and white space.
    pub(crate) code: &'t str,
}

/// A statement with a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// Index of the tag that opens it.
    pub(crate) open: usize,
    /// Index of the tag that ends it.
    pub(crate) close: usize,
}

/// All tags of a template.
pub(crate) struct Code<'t> {
    pub(crate) template: &'t Template,
    pub(crate) tags: Vec<Tag<'t>>,
    blocks: Vec<Block>,
    /// For each tag the innermost `if` around or at it, and the innermost loop; indices of blocks.
    around: Vec<Around>,
    /// Where each piece stands in the source, and its index, in order of the source.
    pieces: Vec<(Span, usize)>,
    histories: OnceCell<Vec<Block>>,
    history_bodies: OnceCell<Vec<Span>>,
    last_history_tag: OnceCell<Option<usize>>,
    optional: OnceCell<Vec<Span>>,
    newest: OnceCell<Vec<Span>>,
}

#[derive(Clone, Copy, Default)]
struct Around {
    branch: Option<usize>,
    repeats: Option<usize>,
}

/// What the messages of a conversation are called.
pub(crate) const HISTORY: &str = r"(?:loop_)?messages|(?:chat_|conversation_|message_)?history|conversation|turns|dialog(?:ue)?|transcript|chat_messages|past_messages";

static HISTORY_LOOP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // Handlebars and Go say `each` and `range`.
    let pattern = format!(r"^#?(?:for\s.*\bin|each|range)\s.*?\b(?:{HISTORY})\b");
    own(&pattern)
});

impl<'t> Code<'t> {
    pub(crate) fn read(template: &'t Template) -> Self {
        let tags = tags(template);
        let blocks = match template.dialect() {
            Dialect::Jinja => blocks(&tags),
            _ => Vec::new(),
        };
        let pieces = template.pieces().iter().enumerate();
        let mut pieces: Vec<_> = pieces.map(|(index, piece)| (piece.span, index)).collect();
        pieces.sort_unstable();
        Self {
            template,
            around: around(&tags, &blocks),
            tags,
            blocks,
            pieces,
            histories: OnceCell::new(),
            history_bodies: OnceCell::new(),
            last_history_tag: OnceCell::new(),
            optional: OnceCell::new(),
            newest: OnceCell::new(),
        }
    }

    /// Loops over the messages of a conversation.
    pub(crate) fn history_loops(&self) -> &[Block] {
        self.histories.get_or_init(|| {
            let is_history = |block: &&Block| {
                let code = self.tags[block.open].code;
                code.starts_with("for") && is_history_loop(code)
            };
            self.blocks.iter().filter(is_history).copied().collect()
        })
    }

    /// It stands in a loop over the messages of a conversation.
    pub(crate) fn is_in_history(&self, span: Span) -> bool {
        let bodies = self.history_bodies.get_or_init(|| {
            let loops = self.history_loops().iter();
            merged(loops.map(|block| self.body(*block)).collect())
        });
        holds(bodies, span.start)
    }

    /// A tag behind this one begins to print the messages of a conversation.
    pub(crate) fn precedes_history(&self, tag: &Tag<'_>) -> bool {
        let last = self.last_history_tag.get_or_init(|| {
            let is_history = |tag: &Tag<'_>| is_history_loop(tag.code);
            self.tags.iter().rposition(is_history)
        });
        last.is_some_and(|last| self.tags[last].span.start >= tag.span.end)
    }

    /// The pieces that stand in a span of the source, in order of the source.
    pub(crate) fn pieces_in(&self, span: Span) -> impl Iterator<Item = usize> + '_ {
        let from = self.pieces.partition_point(|(at, _)| at.start < span.start);
        let behind = self.pieces[from..].iter();
        behind
            .take_while(move |(at, _)| at.start < span.end)
            .inspect(|_| work::step())
            .filter(move |(at, _)| at.end <= span.end)
            .map(|(_, index)| *index)
    }

    /// Where the text of the newest turn of the user stands.
    pub(crate) fn newest_turn(&self) -> &[Span] {
        self.newest.get_or_init(|| {
            let pieces = self.template.pieces().iter();
            // Text from other files stands in no place of this one.
            let newest = pieces.filter(|piece| {
                piece.in_last_turn && piece.kind == PieceKind::Text && piece.from.is_none()
            });
            merged(newest.map(|piece| piece.span).collect())
        })
    }

    /// It depends on a condition, or stands in a macro.
    pub(crate) fn is_optional(&self, offset: usize) -> bool {
        let optional = self.optional.get_or_init(|| {
            let is_optional =
                |block: &&Block| matches!(self.tags[block.open].word(), "if" | "macro");
            let blocks = self.blocks.iter().filter(is_optional);
            merged(blocks.map(|block| self.body(*block)).collect())
        });
        holds(optional, offset)
    }

    /// The innermost loop around a tag.
    pub(crate) fn innermost_loop(&self, tag: usize) -> Option<Block> {
        self.around[tag].repeats.map(|block| self.blocks[block])
    }

    /// The last `if` that asks about something, with its arms.
    pub(crate) fn last_if(&self, asks: &str) -> Option<Block> {
        let found = self.blocks.iter().rfind(|block| {
            let tag = self.tags[block.open];
            tag.word() == "if" && tag.code.contains(asks)
        });
        found.copied()
    }

    /// From the end of the tag that opens a body to the start of the tag that ends it.
    pub(crate) fn body(&self, block: Block) -> Span {
        Span {
            start: self.tags[block.open].span.end,
            end: self.tags[block.close].span.start,
        }
    }

    /// The body of one arm of an `if`: from its tag to the next arm or the end.
    pub(crate) fn arm(&self, tag: usize) -> Option<Block> {
        let block = self.blocks[self.around[tag].branch?];
        // Arms of an `if` inside this one belong to that one.
        let mut depth = 0_usize;
        for at in tag + 1..=block.close {
            match self.tags[at].word() {
                "if" => depth += 1,
                "endif" if depth > 0 => depth -= 1,
                "elif" | "else" | "endif" if depth == 0 => {
                    return Some(Block {
                        open: tag,
                        close: at,
                    });
                }
                _ => {}
            }
        }
        None
    }

    /// A body prints something: text or a value.
    pub(crate) fn prints(&self, body: Span) -> bool {
        self.prints_value(body) || self.has_text(body)
    }

    /// A tag in the body prints a value; raising an error prints none.
    pub(crate) fn prints_value(&self, body: Span) -> bool {
        self.within(body)
            .any(|tag| tag.prints && !tag.code.starts_with("raise_exception"))
    }

    fn has_text(&self, body: Span) -> bool {
        let texts = self.template.texts();
        let from = texts.partition_point(|text| text.end <= body.start);
        let inside = texts[from..].iter();
        let mut inside = inside.take_while(|text| text.start < body.end);
        inside.any(|text| {
            let span = Span {
                start: text.start.max(body.start),
                end: text.end.min(body.end),
            };
            span.start < span.end && !self.template.source().slice(span).trim().is_empty()
        })
    }

    /// The tags that stand in a span.
    pub(crate) fn within(&self, span: Span) -> impl Iterator<Item = &Tag<'t>> + '_ {
        let first = self.tags.partition_point(|tag| tag.span.start < span.start);
        self.tags[first..]
            .iter()
            .take_while(move |tag| tag.span.end <= span.end)
    }
}

impl Tag<'_> {
    /// It prints something else than strings that are written out in it.
    pub(crate) fn prints_variable(&self) -> bool {
        self.prints && !self.code.starts_with("raise_exception") && prints_variable(self.code)
    }

    /// The first word: `for`, `endif`.
    pub(crate) fn word(&self) -> &str {
        let end = self
            .code
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(self.code.len());
        &self.code[..end]
    }
}

/// An expression is more than strings and marks.
pub(crate) fn prints_variable(code: &str) -> bool {
    let mut quote = None;
    code.chars().any(|c| {
        match quote {
            Some(open) if open == c => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None => return c.is_alphabetic(),
        }
        false
    })
}

/// A statement begins a loop over the messages of a conversation.
pub(crate) fn is_history_loop(code: &str) -> bool {
    HISTORY_LOOP
        .as_ref()
        .is_some_and(|regex| regex.is_match(code))
}

/// Everything between static texts, cut where values and comments stand.
fn tags(template: &Template) -> Vec<Tag<'_>> {
    let text = template.source().text();
    let mut tags = Vec::new();
    let mut at = template.body_start();
    for static_text in template.texts() {
        gap(template, at, static_text.start, &mut tags);
        at = static_text.end;
    }
    gap(template, at, text.len(), &mut tags);
    tags
}

fn gap<'t>(template: &'t Template, start: usize, end: usize, tags: &mut Vec<Tag<'t>>) {
    let text = template.source().text();
    let outputs = template.outputs();
    let comments = template.comments();
    let mut at = start;
    while at < end {
        let output = outputs.partition_point(|span| span.start < at);
        if let Some(span) = outputs
            .get(output)
            .filter(|span| span.start == at && span.end > at)
        {
            tags.push(tag(text, *span, true));
            at = span.end;
            continue;
        }
        let comment = comments.partition_point(|comment| comment.span.start < at);
        if let Some(comment) = comments
            .get(comment)
            .filter(|c| c.span.start == at && c.span.end > at)
        {
            at = comment.span.end;
            continue;
        }
        let next = outputs
            .get(output)
            .map_or(end, |span| span.start.clamp(at, end));
        let close = statement_end(text, at, next.max(at + 1).min(end));
        let close = if text.is_char_boundary(close) {
            close
        } else {
            end
        };
        tags.push(tag(
            text,
            Span {
                start: at,
                end: close,
            },
            false,
        ));
        at = close;
    }
}

/// The end of the statement at `at`, at most `end`.
fn statement_end(text: &str, at: usize, end: usize) -> usize {
    let Some(inside) = text.get(at..end).filter(|inside| inside.starts_with("{%")) else {
        return end;
    };
    let mut quote = None;
    let bytes = inside.as_bytes();
    for (index, byte) in bytes.iter().enumerate().skip(2) {
        match (quote, byte) {
            (Some(open), _) if open == *byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'%') if bytes.get(index + 1) == Some(&b'}') => return at + index + 2,
            (None, _) => {}
        }
    }
    end
}

fn tag(text: &str, span: Span, prints: bool) -> Tag<'_> {
    let code = text.get(span.start..span.end).unwrap_or_default();
    let code = code
        .trim_start_matches(['{', '%'])
        .trim_start_matches(['-', '+', '~'])
        .trim_end_matches(['}', '%'])
        .trim_end_matches(['-', '+', '~'])
        .trim();
    Tag { span, prints, code }
}

/// Statements that have a body.
const WITH_BODY: [&str; 10] = [
    "for",
    "if",
    "macro",
    "call",
    "block",
    "filter",
    "with",
    "set",
    "generation",
    "autoescape",
];

fn blocks(tags: &[Tag<'_>]) -> Vec<Block> {
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut blocks = Vec::new();
    for (index, tag) in tags.iter().enumerate().filter(|(_, tag)| !tag.prints) {
        let word = tag.word();
        if let Some(ended) = word.strip_prefix("end") {
            if let Some(at) = open.iter().rposition(|(_, opened)| *opened == ended) {
                blocks.push(Block {
                    open: open[at].0,
                    close: index,
                });
                open.truncate(at);
            }
        } else if WITH_BODY.contains(&word) && !(word == "set" && tag.code.contains('=')) {
            open.push((index, word));
        }
    }
    blocks.sort_by_key(|block| block.open);
    blocks
}

/// For each tag the blocks around it.
fn around(tags: &[Tag<'_>], blocks: &[Block]) -> Vec<Around> {
    let mut all = Vec::with_capacity(tags.len());
    let mut open: Vec<(usize, Around)> = Vec::new();
    let mut next = blocks.iter().enumerate().peekable();
    for index in 0..tags.len() {
        while open
            .last()
            .is_some_and(|(block, _)| blocks[*block].close <= index)
        {
            open.pop();
        }
        let outside = open.last().map_or(Around::default(), |(_, around)| *around);
        let mut inside = outside;
        while let Some((block, found)) = next.next_if(|(_, block)| block.open == index) {
            let code = tags[found.open].code;
            inside.branch = code.starts_with("if").then_some(block).or(inside.branch);
            inside.repeats = (tags[found.open].word() == "for")
                .then_some(block)
                .or(inside.repeats);
            open.push((block, inside));
        }
        // A condition is one of its own arms; a loop is not in itself.
        all.push(Around {
            branch: inside.branch,
            repeats: outside.repeats,
        });
    }
    all
}

/// Spans that touch or overlap as one, in order.
pub(crate) fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    spans.dedup_by(|next, last| {
        let touches = next.start <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
    spans
}

/// One of the spans, which are in order and apart, holds a byte.
pub(crate) fn holds(spans: &[Span], offset: usize) -> bool {
    work::step();
    let at = spans.partition_point(|span| span.end <= offset);
    spans.get(at).is_some_and(|span| span.start <= offset)
}

#[cfg(test)]
mod tests {
    use headwater_template::Source;

    use super::*;

    #[test]
    fn tags_and_their_bodies() {
        let text = "a{% for m in messages %}{# c #}{{ m }}{% if x == '%}' %}b{% elif y %}{% if z %}{% endif %}c{% endif %}{% endfor %}";
        let template =
            Template::parse(Source::from_bytes(text.as_bytes()).unwrap(), Dialect::Jinja);
        let code = Code::read(&template);
        let words: Vec<_> = code.tags.iter().map(Tag::word).collect();
        assert_eq!(
            words,
            ["for", "m", "if", "elif", "if", "endif", "endif", "endfor"]
        );
        assert_eq!(code.history_loops().len(), 1);
        let arm = code.arm(3).unwrap();
        assert_eq!(
            template.source().slice(code.body(arm)),
            "{% if z %}{% endif %}c"
        );
        assert!(code.prints(code.body(arm)) && !code.prints_value(code.body(arm)));
    }
}
