//! Go's `text/template`.
//!
//! `range` goes through a map in the order of its keys, so no order is lost there. What `.` means changes
//! inside `range`, `with` and `template`: fields get the dot that they are read from.

use headwater_text::Span;

use super::{
    Syntax,
    atoms::{Token, TokenKind, atom, is_constant, tokens},
    delimiters::end_of_tag,
};
use crate::{
    expression::{Atom, AtomKind, Expression},
    flow::PARTIAL,
    marks::{Mark, MarkKind},
    problem::Problem,
    scope::WHOLE,
    statement::{Opened, Step},
    tree::{Builder, Node, Reference},
};

/// Reads a text from `start` on.
pub(crate) fn read(text: &str, start: usize, problems: &mut Vec<Problem>) -> Syntax {
    let mut reader = Reader {
        text,
        marks: Vec::new(),
        builder: Builder::new(|_| "{{end}}".to_owned()),
        dots: Vec::new(),
        dots_so_far: 0,
    };
    reader.all(start, problems);
    let mut nodes = reader.builder.finish(problems);
    // A `define` holds wherever it stands.
    nodes.sort_by_key(|node| !matches!(node, Node::Macro { .. }));
    Syntax {
        marks: reader.marks,
        nodes,
    }
}

struct Reader<'t> {
    text: &'t str,
    marks: Vec<Mark>,
    builder: Builder,
    /// For each open tag the name of its dot, if it has one of its own.
    dots: Vec<Option<String>>,
    dots_so_far: usize,
}

impl Reader<'_> {
    fn all(&mut self, start: usize, problems: &mut Vec<Problem>) {
        let mut at = start;
        while let Some(open) = self.text[at..].find("{{").map(|found| at + found) {
            self.push_text(at, open);
            let Some(end) = self.end(open) else {
                let span = Span::new(open, open + 2);
                problems.push(Problem::new(
                    span,
                    "this tag is never closed; expected `}}`",
                ));
                return;
            };
            let span = Span::new(open, end);
            self.tag(span, problems);
            at = end;
            if self.builder.is_too_deep(span, problems) {
                return;
            }
        }
        self.push_text(at, self.text.len());
    }

    fn end(&self, open: usize) -> Option<usize> {
        let inner = self.text[open + 2..].trim_start_matches('-').trim_start();
        if inner.starts_with("/*") {
            let comment = self.text[open..].find("*/").map(|at| open + at + 2)?;
            return end_of_tag(self.text, comment, "}}", &[]);
        }
        end_of_tag(self.text, open + 2, "}}", b"\"`'")
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

    fn tag(&mut self, span: Span, problems: &mut Vec<Problem>) {
        let raw = &self.text[span.start + 2..span.end - 2];
        let inner = raw
            .strip_prefix("- ")
            .or(raw.strip_prefix("-\n"))
            .unwrap_or(raw);
        let inner = inner.trim_start();
        let base = span.end - 2 - inner.len();
        let inner = inner
            .strip_suffix(" -")
            .or(inner.strip_suffix("\n-"))
            .unwrap_or(inner);
        let inner = inner.trim_end();
        if inner.starts_with("/*") {
            return self.mark(MarkKind::Comment, span);
        }
        let tokens = tokens(inner, base);
        let Some(word) = tokens.first().map(|token| token.text) else {
            self.mark(MarkKind::Statement, span);
            return problems.push(Problem::new(span, "this tag is empty; expected a value"));
        };
        let is_statement = tokens[0].kind == TokenKind::Word
            && (KEYWORDS.contains(&word) || declared(&tokens).is_some());
        let kind = if is_statement {
            MarkKind::Statement
        } else {
            MarkKind::Output
        };
        self.mark(kind, span);
        if is_statement {
            self.statement(word, &tokens, span, problems);
        } else {
            let value = self.pipeline(&tokens);
            self.builder.push(Node::Output { span, value });
        }
    }

    fn statement(
        &mut self,
        word: &str,
        tokens: &[Token<'_>],
        span: Span,
        problems: &mut Vec<Problem>,
    ) {
        let behind = &tokens[1..];
        match word {
            "end" => {
                self.dots.pop();
                self.builder.close(None, span, problems);
            }
            "else" => self.other_way(behind, span, problems),
            "if" => {
                let condition = self.pipeline(value(behind));
                self.open((Opened::If, condition), word, None, span);
            }
            "range" => self.range(behind, span),
            "with" => {
                let of = self.pipeline(value(behind));
                let dot = self.new_dot();
                let mut names = vec![(dot.clone(), of.clone())];
                names.extend(declared_names(behind).map(|name| (name, of.clone())));
                self.open((Opened::Scope { names }, of), word, Some(dot), span);
            }
            "define" => {
                let name = behind.first().map_or("", |token| token.text);
                let dot = self.new_dot();
                let opened = Opened::Macro {
                    name: format!("{PARTIAL}{name}"),
                    parameters: vec![dot.clone()],
                    defaults: Vec::new(),
                };
                self.open((opened, Expression::default()), word, Some(dot), span);
            }
            "block" => {
                let of = self.pipeline(behind.get(1..).unwrap_or_default());
                let dot = self.new_dot();
                let opened = Opened::Group {
                    keyword: word.to_owned(),
                    names: vec![(dot.clone(), of)],
                };
                self.open((opened, Expression::default()), word, Some(dot), span);
            }
            "template" => self.template(behind, span, problems),
            "break" | "continue" => {}
            // `$x := …`
            _ => {
                let of = self.pipeline(value(tokens));
                for target in declared_names(tokens) {
                    let value = of.clone();
                    self.builder.push(Node::Set { target, value });
                }
            }
        }
    }

    fn open(
        &mut self,
        (opened, condition): (Opened, Expression),
        name: &str,
        dot: Option<String>,
        span: Span,
    ) {
        self.dots.push(dot);
        self.builder.open(opened, name.to_owned(), condition, span);
    }

    fn range(&mut self, behind: &[Token<'_>], span: Span) {
        let over = self.pipeline(value(behind));
        let dot = self.new_dot();
        let targets = std::iter::once(dot.clone()).chain(declared_names(behind));
        let opened = Opened::For {
            targets: targets.collect(),
            over,
            only: Expression::default(),
        };
        self.open((opened, Expression::default()), "range", Some(dot), span);
    }

    fn other_way(&mut self, behind: &[Token<'_>], span: Span, problems: &mut Vec<Problem>) {
        let condition = match behind.first().map(|token| token.text) {
            Some("if" | "with") => self.pipeline(value(&behind[1..])),
            Some(_) => {
                let message = "expected `if` or `with` behind `else`, or nothing";
                return problems.push(Problem::new(span, message));
            }
            None => Expression::default(),
        };
        // Here the dot is what it was before.
        if let Some(dot) = self.dots.last_mut() {
            *dot = None;
        }
        self.builder.step(Step::NextArm(condition), span, problems);
    }

    fn template(&mut self, behind: &[Token<'_>], span: Span, problems: &mut Vec<Problem>) {
        let Some(name) = behind.first().filter(|token| token.kind == TokenKind::Text) else {
            let message = "expected the name of a template in quotes behind `template`";
            return problems.push(Problem::new(span, message));
        };
        let reference = Reference {
            span,
            names: vec![name.text.to_owned()],
            is_optional: false,
        };
        let value = self.pipeline(&behind[1..]);
        self.builder.push(Node::Include {
            reference,
            value,
            fallback: Vec::new(),
        });
    }

    fn new_dot(&mut self) -> String {
        self.dots_so_far += 1;
        format!("{WHOLE}/{}", self.dots_so_far)
    }

    /// Commands with arguments, each fed into the next one.
    fn pipeline(&self, tokens: &[Token<'_>]) -> Expression {
        let mut atoms = Vec::new();
        // What is called in each bracket around this place.
        let mut calls: Vec<Option<Atom>> = vec![None];
        let mut begins = true;
        for (index, token) in tokens.iter().enumerate() {
            match token.kind {
                TokenKind::Open => {
                    calls.push(None);
                    begins = true;
                    continue;
                }
                TokenKind::Close => {
                    if calls.len() > 1 {
                        atoms.extend(calls.pop().flatten());
                    }
                }
                TokenKind::Pipe => {
                    atoms.extend(calls.last_mut().and_then(Option::take));
                    begins = true;
                    continue;
                }
                TokenKind::Text => {}
                TokenKind::Word => {
                    let next = tokens.get(index + 1).map(|next| next.kind);
                    let call = calls.last_mut().filter(|_| begins);
                    self.word(token, next, &mut atoms, call);
                }
            }
            begins = false;
        }
        atoms.extend(calls.into_iter().rev().flatten());
        Expression { atoms }
    }

    /// `call` is there for the first word of a command.
    fn word(
        &self,
        token: &Token<'_>,
        next: Option<TokenKind>,
        atoms: &mut Vec<Atom>,
        call: Option<&mut Option<Atom>>,
    ) {
        let word = token.text;
        if is_constant(word) {
            return;
        }
        // A field of what stands in brackets: `(index .Items 0).Name`.
        let is_field = word.starts_with('.') || word.starts_with('$');
        if !is_field {
            if let Some(call) = call {
                *call = Some(atom(AtomKind::Function, word, token.span));
            } else {
                atoms.push(atom(AtomKind::Function, word, token.span));
            }
            return;
        }
        let path = self.path(word);
        let has_arguments = matches!(
            next,
            Some(TokenKind::Word | TokenKind::Text | TokenKind::Open)
        );
        if let Some(call) = call
            && has_arguments
            && let Some((of, _)) = path.rsplit_once('.')
        {
            atoms.push(atom(AtomKind::Variable, of, token.span));
            *call = Some(atom(AtomKind::Method, &path, token.span));
            return;
        }
        atoms.push(atom(AtomKind::Variable, &path, token.span));
    }

    /// `.User.Name` in the dot that holds here, `$.User` in the first one, `$x.Name` as it is.
    fn path(&self, word: &str) -> String {
        if let Some(fields) = word.strip_prefix("$.") {
            return fields.to_owned();
        }
        if word == "$" {
            return WHOLE.to_owned();
        }
        let Some(fields) = word.strip_prefix('.') else {
            return word.to_owned();
        };
        let dot = self.dots.iter().rev().find_map(Option::as_ref);
        match (dot, fields) {
            (None, "") => WHOLE.to_owned(),
            (None, fields) => fields.to_owned(),
            (Some(dot), "") => dot.clone(),
            (Some(dot), fields) => format!("{dot}.{fields}"),
        }
    }
}

const KEYWORDS: [&str; 10] = [
    "if", "else", "range", "with", "end", "define", "template", "block", "break", "continue",
];

/// Where `:=` or `=` stands, if names come before it.
fn declared(tokens: &[Token<'_>]) -> Option<usize> {
    let at = tokens
        .iter()
        .position(|token| matches!(token.text, ":=" | "="))?;
    let names = tokens[..at].iter().all(|token| token.text.starts_with('$'));
    (names && at > 0).then_some(at)
}

/// The value behind `$x :=`, or all of it.
fn value<'a, 't>(tokens: &'a [Token<'t>]) -> &'a [Token<'t>] {
    declared(tokens).map_or(tokens, |at| &tokens[at + 1..])
}

fn declared_names(tokens: &[Token<'_>]) -> impl Iterator<Item = String> {
    let names = &tokens[..declared(tokens).unwrap_or(0)];
    let names: Vec<String> = names.iter().map(|token| token.text.to_owned()).collect();
    names.into_iter()
}
