//! Handlebars and Mustache.
//!
//! In `{{#each users}}` a name is one of the user's: names get the context that they are looked up in.

use headwater_text::Span;

use super::{
    Syntax,
    atoms::{Token, TokenKind, atom, is_constant, tokens, variable},
    delimiters::end_of_tag,
};
use crate::{
    expression::{AtomKind, Expression},
    flow::PARTIAL,
    marks::{Mark, MarkKind},
    problem::Problem,
    role::Role,
    scope::WHOLE,
    statement::{Opened, Step},
    tree::{Builder, Node, Reference},
};

/// Reads a text from `start` on.
pub(crate) fn read(text: &str, start: usize, problems: &mut Vec<Problem>) -> Syntax {
    let mut reader = Reader {
        text,
        open: "{{".to_owned(),
        close: "}}".to_owned(),
        marks: Vec::new(),
        builder: Builder::new(|name| format!("{{{{/{name}}}}}")),
        frames: Vec::new(),
        contexts: 0,
        has_no_long_end: false,
    };
    reader.all(start, problems);
    Syntax {
        marks: reader.marks,
        nodes: reader.builder.finish(problems),
    }
}

struct Reader<'t> {
    text: &'t str,
    open: String,
    close: String,
    marks: Vec<Mark>,
    builder: Builder,
    frames: Vec<Frame>,
    /// Contexts so far; each has a name of its own.
    contexts: usize,
    /// No long comment ends behind this place.
    has_no_long_end: bool,
}

/// What an open block means for the names in it.
struct Frame {
    /// The name of its context, if it has one of its own.
    context: Option<String>,
    /// `as |user index|`
    parameters: Vec<String>,
}

impl<'t> Reader<'t> {
    fn all(&mut self, start: usize, problems: &mut Vec<Problem>) {
        let mut at = start;
        while let Some(open) = self.text[at..].find(&self.open).map(|found| at + found) {
            // `\{{` is text up to the end of the tag.
            if self.text[at..open].ends_with('\\') && self.open == "{{" {
                let end = self.text[open..]
                    .find("}}")
                    .map_or(self.text.len(), |end| open + end + 2);
                self.push_text(at, end);
                at = end;
                continue;
            }
            self.push_text(at, open);
            match self.tag(open, problems) {
                Some(end) => at = end,
                None => return,
            }
            if self.builder.is_too_deep(Span::new(open, at), problems) {
                return;
            }
        }
        self.push_text(at, self.text.len());
    }

    fn push_text(&mut self, start: usize, end: usize) {
        if start < end {
            let span = Span::new(start, end);
            self.mark(MarkKind::Text, span);
            self.builder.push(Node::Text(span));
        }
    }

    fn mark(&mut self, kind: MarkKind, span: Span) {
        self.marks.push(Mark { kind, span });
    }

    /// Reads the tag at `open`; gives the byte behind it.
    fn tag(&mut self, open: usize, problems: &mut Vec<Problem>) -> Option<usize> {
        let rest = &self.text[open..];
        if self.open == "{{" && rest.starts_with("{{{{") {
            return self.raw_block(open, problems);
        }
        let inner_start = open + self.open.len();
        let behind = self.text[inner_start..].trim_start_matches('~');
        let end = if behind.starts_with("!--") {
            let from = open + rest.len().min(5);
            // `{{!-- x }}` is a short comment.
            self.end_of_long_comment(from)
                .or_else(|| end_of_tag(self.text, inner_start, &self.close, &[]))
        } else if behind.starts_with('!') {
            end_of_tag(self.text, inner_start, &self.close, &[])
        } else if behind.starts_with('{') && self.open == "{{" {
            end_of_tag(self.text, inner_start, "}}}", b"\"'")
                .or_else(|| end_of_tag(self.text, inner_start, "}~}}", b"\"'"))
        } else {
            end_of_tag(self.text, inner_start, &self.close, b"\"'")
        };
        let Some(end) = end else {
            let span = Span::new(open, inner_start);
            let message = format!("this tag is never closed; expected `{}`", self.close);
            problems.push(Problem::new(span, message));
            return None;
        };
        let inner_end = end.saturating_sub(self.close.len()).max(inner_start);
        self.inside(
            Span::new(open, end),
            Span::new(inner_start, inner_end),
            problems,
        );
        Some(end)
    }

    /// The byte behind the next `--}}` or `--~}}`.
    fn end_of_long_comment(&mut self, from: usize) -> Option<usize> {
        let mut at = from;
        while !self.has_no_long_end {
            let Some(found) = self.text[at..].find("--") else {
                self.has_no_long_end = true;
                break;
            };
            let behind = &self.text[at + found + 2..];
            for close in ["}}", "~}}"] {
                if behind.starts_with(close) {
                    return Some(at + found + 2 + close.len());
                }
            }
            // Of `---}}` the last two signs count.
            at += found + 1;
        }
        None
    }

    /// `{{{{raw}}}} … {{{{/raw}}}}`
    fn raw_block(&mut self, open: usize, problems: &mut Vec<Problem>) -> Option<usize> {
        let begin = self.text[open..].find("}}}}").map(|at| open + at + 4);
        let close = begin.and_then(|begin| {
            self.text[begin..]
                .find("{{{{/")
                .map(|at| (begin, begin + at))
        });
        let end = close.and_then(|(begin, close)| {
            let end = self.text[close..].find("}}}}")?;
            Some((begin, close, close + end + 4))
        });
        let Some((begin, close, end)) = end else {
            let span = Span::new(open, open + 4);
            problems.push(Problem::new(span, "this raw block is never closed"));
            return None;
        };
        self.mark(MarkKind::Statement, Span::new(open, begin));
        self.push_text(begin, close);
        self.mark(MarkKind::Statement, Span::new(close, end));
        Some(end)
    }

    fn inside(&mut self, tag: Span, inner: Span, problems: &mut Vec<Problem>) {
        let text = &self.text[inner.start..inner.end];
        let body = text.trim_start_matches('~').trim_start();
        let base = inner.start + (text.len() - body.len());
        let body = body.trim_end_matches('~').trim_end();
        let sigil = body.chars().next().unwrap_or(' ');
        let kind = match sigil {
            '!' => MarkKind::Comment,
            '#' | '/' | '^' | '>' | '=' | '$' | '<' => MarkKind::Statement,
            _ if is_else(body) => MarkKind::Statement,
            _ => MarkKind::Output,
        };
        self.mark(kind, tag);
        match sigil {
            '!' => {}
            '=' => self.set_delimiters(body, tag, problems),
            '#' | '^' if body.len() > 1 => self.block((body, base), tag, problems),
            '^' => self.next_arm(Expression::default(), tag, problems),
            '/' => {
                let name = body[1..].trim();
                self.frames.pop();
                self.builder.close(Some(name), tag, problems);
            }
            '>' => self.partial(&body[1..], base + 1, tag),
            '$' | '<' => self.inherited(&body[1..], sigil, tag),
            '{' | '&' => {
                let value = body[1..].trim_end_matches('}');
                self.output(value, base + 1, tag, problems);
            }
            _ if is_else(body) => self.other_way(body, base, tag, problems),
            _ => self.output(body, base, tag, problems),
        }
    }

    fn set_delimiters(&mut self, body: &str, tag: Span, problems: &mut Vec<Problem>) {
        let words: Vec<&str> = body.trim_matches('=').split_whitespace().collect();
        match words[..] {
            [open, close] if open.len() <= 8 && close.len() <= 8 => {
                (self.open, self.close) = (open.to_owned(), close.to_owned());
            }
            _ => problems.push(Problem::new(
                tag,
                "expected two delimiters with a space between them, as in `{{=<% %>=}}`",
            )),
        }
    }

    /// `{{#if …}}` and all else that has a body.
    fn block(&mut self, (body, base): (&str, usize), tag: Span, problems: &mut Vec<Problem>) {
        let mut tokens = tokens(&body[1..], base + 1);
        let sign = tokens
            .first()
            .is_some_and(|token| matches!(token.text, ">" | "*"));
        if sign {
            tokens.remove(0);
        }
        let parameters = block_parameters(&mut tokens);
        let Some(head) = tokens.first().copied() else {
            return problems.push(Problem::new(tag, "this tag is empty; expected a name"));
        };
        let name = head.text.trim_start_matches(['>', '*']).to_owned();
        let arguments = &tokens[1..];
        let is_partial =
            sign && body[1..].trim_start().starts_with('>') || head.text.starts_with('>');
        let is_inline = name == "inline";
        let mut frame = Frame {
            context: None,
            parameters,
        };
        let (opened, condition) = if is_inline {
            let target = arguments.first().map_or("", |token| token.text);
            let opened = Opened::Macro {
                name: format!("{PARTIAL}{target}"),
                parameters: Vec::new(),
                defaults: Vec::new(),
            };
            (opened, Expression::default())
        } else if is_partial {
            let value = self.expression(arguments);
            (
                Opened::Partial(reference(&name, tag), value),
                Expression::default(),
            )
        } else if body.starts_with('^') {
            (Opened::If, self.expression(&tokens))
        } else {
            self.opened(&name, &tokens, &mut frame)
        };
        self.frames.push(frame);
        self.builder.open(opened, name, condition, tag);
    }

    fn opened(
        &mut self,
        name: &str,
        tokens: &[Token<'_>],
        frame: &mut Frame,
    ) -> (Opened, Expression) {
        let arguments = &tokens[1..];
        match name {
            "if" | "unless" => (Opened::If, self.expression(arguments)),
            "each" => self.repeat(self.expression(arguments), frame),
            "with" | "let" => {
                let value = self.expression(arguments);
                let names = self.names(frame);
                let names = names
                    .into_iter()
                    .map(|name| (name, value.clone()))
                    .collect();
                (Opened::Scope { names }, value)
            }
            _ if arguments.is_empty() && is_plural(name) => {
                self.repeat(self.expression(tokens), frame)
            }
            // A section, or a helper that decides whether its body is printed.
            _ => (Opened::If, self.expression(tokens)),
        }
    }

    fn repeat(&mut self, over: Expression, frame: &mut Frame) -> (Opened, Expression) {
        let targets = self.names(frame);
        let opened = Opened::For {
            targets,
            over,
            only: Expression::default(),
        };
        (opened, Expression::default())
    }

    /// Gives a block a context of its own; the names that stand for it.
    fn names(&mut self, frame: &mut Frame) -> Vec<String> {
        self.contexts += 1;
        let context = format!("{WHOLE}/{}", self.contexts);
        let names = std::iter::once(context.clone()).chain(frame.parameters.clone());
        let names = names.collect();
        frame.context = Some(context);
        names
    }

    /// `{{else}}`, `{{else if x}}`
    fn other_way(&mut self, body: &str, base: usize, tag: Span, problems: &mut Vec<Problem>) {
        let tokens = tokens(body, base);
        // `if`, `unless`, or another helper, and its arguments.
        let condition = match tokens.get(1) {
            Some(helper) if matches!(helper.text, "if" | "unless" | "with" | "each") => {
                self.expression(&tokens[2..])
            }
            Some(_) => self.expression(&tokens[1..]),
            None => Expression::default(),
        };
        self.next_arm(condition, tag, problems);
    }

    fn next_arm(&mut self, condition: Expression, tag: Span, problems: &mut Vec<Problem>) {
        // Here names are looked up as they are around the block.
        if let Some(frame) = self.frames.last_mut() {
            frame.context = None;
        }
        self.builder.step(Step::NextArm(condition), tag, problems);
    }

    /// `{{> card user title="x"}}`
    fn partial(&mut self, body: &str, base: usize, tag: Span) {
        let tokens = tokens(body, base);
        let Some(head) = tokens.first() else { return };
        let is_dynamic = head.kind == TokenKind::Open;
        if head.text.starts_with('@') {
            return;
        }
        let mut reference = reference(head.text, tag);
        if is_dynamic {
            reference.names.clear();
        }
        let value = self.expression(&tokens[1..]);
        self.builder.push(Node::Include {
            reference,
            value,
            fallback: Vec::new(),
        });
    }

    /// Blocks and parents of Mustache's inheritance.
    fn inherited(&mut self, name: &str, sigil: char, tag: Span) {
        let name = name.trim().to_owned();
        let opened = if sigil == '$' {
            Opened::Block { name: name.clone() }
        } else {
            Opened::Partial(reference(&name, tag), Expression::default())
        };
        self.frames.push(Frame {
            context: None,
            parameters: Vec::new(),
        });
        self.builder.open(opened, name, Expression::default(), tag);
    }

    fn output(&mut self, body: &str, base: usize, tag: Span, problems: &mut Vec<Problem>) {
        let tokens = tokens(body, base);
        if let [helper, name] = tokens[..]
            && helper.text == "role"
            && name.kind == TokenKind::Text
        {
            let role = Role::from_name(name.text);
            return self.builder.push(Node::Role { span: tag, role });
        }
        if tokens.is_empty() {
            return problems.push(Problem::new(tag, "this tag is empty; expected a name"));
        }
        if !self.balanced(&tokens) {
            let message = "brackets do not match in this tag";
            return problems.push(Problem::new(tag, message));
        }
        let value = self.expression(&tokens);
        self.builder.push(Node::Output { span: tag, value });
    }

    fn balanced(&self, tokens: &[Token<'_>]) -> bool {
        let mut depth = 0_i64;
        for token in tokens {
            depth += match token.kind {
                TokenKind::Open => 1,
                TokenKind::Close => -1,
                _ => 0,
            };
            if depth < 0 {
                return false;
            }
        }
        depth == 0
    }

    /// A path, or a helper with arguments.
    fn expression(&self, tokens: &[Token<'_>]) -> Expression {
        let mut atoms = Vec::new();
        // Helpers whose arguments are being read, with their keywords; none before the name is known.
        let mut calls: Vec<(Option<Token<'_>>, Vec<String>)> = Vec::new();
        let is_call = tokens.len() > 1 && tokens[0].kind == TokenKind::Word;
        if is_call {
            calls.push((None, Vec::new()));
        }
        for token in tokens {
            match token.kind {
                TokenKind::Open => calls.push((None, Vec::new())),
                TokenKind::Close => {
                    if calls.len() > usize::from(is_call) {
                        atoms.extend(calls.pop().and_then(call));
                    }
                }
                TokenKind::Word => match calls.last_mut() {
                    Some((name @ None, _)) => *name = Some(*token),
                    Some((_, keywords)) if token.text.ends_with('=') => {
                        keywords.push(token.text.trim_end_matches('=').to_owned());
                    }
                    _ => atoms.extend(self.path(token)),
                },
                TokenKind::Text | TokenKind::Pipe => {}
            }
        }
        atoms.extend(calls.into_iter().rev().filter_map(call));
        Expression { atoms }
    }

    /// A name, in the context in which it is looked up.
    fn path(&self, token: &Token<'_>) -> Option<crate::expression::Atom> {
        let mut path = token.text;
        if is_constant(path) {
            return None;
        }
        let mut up = 0;
        while let Some(rest) = path.strip_prefix("../") {
            up += 1;
            path = rest;
        }
        let named = path.trim_start_matches("./");
        let is_own = named.len() < path.len();
        let path = if named == ".." {
            WHOLE.to_owned()
        } else {
            plain(named)
        };
        if let Some(rest) = path.strip_prefix("@root") {
            let rest = rest.trim_start_matches('.');
            let rest = if rest.is_empty() { WHOLE } else { rest };
            return variable(rest, token.span).atoms.pop();
        }
        if path.starts_with('@') {
            return None;
        }
        let root = path.split('.').next().unwrap_or_default();
        let is_parameter = self
            .frames
            .iter()
            .any(|frame| frame.parameters.iter().any(|parameter| parameter == root));
        let mut contexts = self
            .frames
            .iter()
            .rev()
            .filter_map(|frame| frame.context.as_ref());
        let path = match contexts.nth(up) {
            Some(context) if is_own || !is_parameter => match path.strip_prefix(WHOLE) {
                Some(rest) if rest.is_empty() || rest.starts_with('.') => {
                    format!("{context}{rest}")
                }
                _ => format!("{context}.{path}"),
            },
            _ => match path.strip_prefix("this.") {
                Some(rest) => rest.to_owned(),
                None => path,
            },
        };
        Some(atom(AtomKind::Variable, &path, token.span))
    }
}

/// `a.[b c].d` and `a/b` as `a.b c.d`; `.` as [`WHOLE`].
fn plain(path: &str) -> String {
    if path == "." || path.is_empty() {
        return WHOLE.to_owned();
    }
    path.replace(['[', ']'], "").replace('/', ".")
}

fn call((name, keywords): (Option<Token<'_>>, Vec<String>)) -> Option<crate::expression::Atom> {
    let name = name?;
    let mut atom = atom(AtomKind::Function, name.text, name.span);
    atom.keywords = keywords;
    Some(atom)
}

fn reference(name: &str, span: Span) -> Reference {
    Reference {
        span,
        names: vec![name.to_owned()],
        is_optional: false,
    }
}

/// Takes `as |user index|` from the end of the words.
fn block_parameters(tokens: &mut Vec<Token<'_>>) -> Vec<String> {
    let Some(at) = tokens
        .iter()
        .position(|token| token.kind == TokenKind::Pipe)
    else {
        return Vec::new();
    };
    let behind = tokens.split_off(at);
    if tokens.last().is_some_and(|token| token.text == "as") {
        tokens.pop();
    }
    let words = behind.iter().filter(|token| token.kind == TokenKind::Word);
    let words = words.map(|token| token.text.to_owned());
    words.take(MAX_PARAMETERS).collect()
}

/// A block hands over an item and its index.
const MAX_PARAMETERS: usize = 8;

fn is_else(body: &str) -> bool {
    body.strip_prefix("else")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// A section of this name is likely a list.
fn is_plural(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let asks = ["is", "has", "show", "use", "needs", "allows"];
    last.ends_with('s') && !last.ends_with("ss") && !asks.iter().any(|word| last.starts_with(word))
}
