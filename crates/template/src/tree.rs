//! The structure of a template: bodies inside tags. Built without recursion; any input has a tree.

use headwater_text::Span;

use crate::{
    expression::Expression,
    marks::{Mark, MarkKind},
    problem::Problem,
    role::Role,
    statement::{Opened, Step, read_statement},
};

/// How deep tags may nest. Later passes recurse once a level.
const MAX_NESTING: usize = 64;

/// A node of the template.
#[derive(Debug)]
pub(crate) enum Node {
    Text(Span),
    Output {
        span: Span,
        value: Expression,
    },
    /// The messages of a conversation.
    History {
        span: Span,
        value: Expression,
    },
    Loop {
        targets: Vec<String>,
        span: Span,
        over: Expression,
        /// Which items are taken.
        only: Expression,
        body: Vec<Node>,
    },
    Branch(Vec<Arm>),
    Set {
        target: String,
        value: Expression,
    },
    Capture {
        target: String,
        body: Vec<Node>,
    },
    Macro {
        name: String,
        parameters: Vec<String>,
        defaults: Vec<Expression>,
        body: Vec<Node>,
    },
    /// `{% call m() %}body{% endcall %}`
    Call {
        span: Span,
        value: Expression,
        body: Vec<Node>,
    },
    /// A body printed where it stands, with names that hold inside it.
    Group {
        names: Vec<(String, Expression)>,
        body: Vec<Node>,
    },
    /// A part that a template which extends this one may replace.
    Block {
        name: String,
        body: Vec<Node>,
    },
    /// The template is another one with blocks replaced.
    Extends(Reference),
    /// Text from another file, or from a part of this one that has a name.
    Include {
        reference: Reference,
        /// What is handed over.
        value: Expression,
        /// Printed if nothing has the name.
        fallback: Vec<Node>,
    },
    /// Macros of another file.
    Import {
        reference: Reference,
        /// Name for all of them: `m` of `m.card()`.
        alias: Option<String>,
        /// Single ones: their name there, and here.
        names: Vec<(String, String)>,
    },
    /// Text that a tag prints as it is.
    Literal {
        span: Span,
        text: String,
    },
    /// From here on somebody else speaks.
    Role {
        span: Span,
        role: Role,
    },
    /// A cache marker.
    Marker(usize),
}

/// A tag that names other templates.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    /// The tag.
    pub(crate) span: Span,
    /// Names to try in this order; empty if only the rendering tells.
    pub(crate) names: Vec<String>,
    /// Nothing is wrong if there is no such template.
    pub(crate) is_optional: bool,
}

/// One way through an `if`, or the body or `else` of a loop.
#[derive(Debug)]
pub(crate) struct Arm {
    /// The tag.
    pub(crate) span: Span,
    /// Empty for `else`.
    pub(crate) condition: Expression,
    pub(crate) body: Vec<Node>,
}

/// A comment with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// With its delimiters.
    pub span: Span,
    /// What stands between the delimiters, without white space around it.
    pub text: String,
}

/// A tag whose end has not been seen yet.
struct Frame {
    opened: Opened,
    /// What its closing tag names.
    name: String,
    span: Span,
    /// Earlier arms of an `if` or `for`.
    arms: Vec<Arm>,
    arm_span: Span,
    condition: Expression,
    body: Vec<Node>,
}

/// Builds the tree of the marks of a Jinja text.
pub(crate) fn build(text: &str, marks: &[Mark], problems: &mut Vec<Problem>) -> Vec<Node> {
    let mut builder = Builder::new(|name| format!("{{% end{name} %}}"));
    for mark in marks {
        let source = &text[mark.span.start..mark.span.end];
        match mark.kind {
            MarkKind::Text => builder.push(Node::Text(mark.span)),
            MarkKind::Comment => {}
            MarkKind::Output => match crate::statement::read_output(source, mark.span) {
                Ok(nodes) => nodes.into_iter().for_each(|node| builder.push(node)),
                Err(problem) => problems.push(problem),
            },
            MarkKind::Statement => match read_statement(source, mark.span) {
                Ok(step) => builder.step(step, mark.span, problems),
                Err(problem) => problems.push(problem),
            },
        }
        if builder.is_too_deep(mark.span, problems) {
            // That the open tags are not closed is no news.
            return builder.finish(&mut Vec::new());
        }
    }
    builder.finish(problems)
}

/// Puts steps together to a tree.
pub(crate) struct Builder {
    root: Vec<Node>,
    frames: Vec<Frame>,
    /// The closing tag of a name, for messages.
    closing: fn(&str) -> String,
}

impl Builder {
    pub(crate) fn new(closing: fn(&str) -> String) -> Self {
        Self {
            root: Vec::new(),
            frames: Vec::new(),
            closing,
        }
    }

    pub(crate) fn push(&mut self, node: Node) {
        match self.frames.last_mut() {
            Some(frame) => frame.body.push(node),
            None => self.root.push(node),
        }
    }

    /// Tells it as a problem if tags nest too deep to go on.
    pub(crate) fn is_too_deep(&self, span: Span, problems: &mut Vec<Problem>) -> bool {
        let is_too_deep = self.frames.len() > MAX_NESTING;
        if is_too_deep {
            let message = format!("tags nest deeper than {MAX_NESTING}; flatten the template");
            problems.push(Problem::new(span, message));
        }
        is_too_deep
    }

    pub(crate) fn step(&mut self, step: Step, span: Span, problems: &mut Vec<Problem>) {
        match step {
            Step::Node(node) => self.push(node),
            Step::Nothing => {}
            Step::Open(opened, condition) => {
                let name = opened.keyword().to_owned();
                self.open(opened, name, condition, span);
            }
            Step::NextArm(condition) => match self.frames.last_mut() {
                Some(frame) if frame.opened.has_arms() => frame.next_arm(condition, span),
                _ => problems.push(Problem::new(
                    span,
                    "`else` without an `if` or `for` before it",
                )),
            },
            Step::Close(name) => self.close(Some(&name), span, problems),
        }
    }

    pub(crate) fn open(&mut self, opened: Opened, name: String, condition: Expression, span: Span) {
        self.frames.push(Frame {
            opened,
            name,
            span,
            arms: Vec::new(),
            arm_span: span,
            condition,
            body: Vec::new(),
        });
    }

    /// Closes the innermost tag, which must have this name if one is given.
    pub(crate) fn close(&mut self, name: Option<&str>, span: Span, problems: &mut Vec<Problem>) {
        let bare = |name: &str| {
            let tag = (self.closing)(name);
            tag.trim_matches(['{', '%', '}', ' ']).to_owned()
        };
        let said = bare(name.unwrap_or("end"));
        match self.frames.pop() {
            Some(frame) if name.is_none_or(|name| frame.name == name) => self.push(frame.close()),
            Some(frame) => {
                let expected = bare(&frame.name);
                let message = format!("`{said}` closes nothing here; expected `{expected}`");
                problems.push(Problem::new(span, message));
                self.frames.push(frame);
            }
            None => {
                let message = format!("`{said}` closes nothing: no tag is open here");
                problems.push(Problem::new(span, message));
            }
        }
    }

    pub(crate) fn finish(mut self, problems: &mut Vec<Problem>) -> Vec<Node> {
        while let Some(frame) = self.frames.pop() {
            let message = format!(
                "`{}` is never closed; add `{}`",
                frame.name,
                (self.closing)(&frame.name)
            );
            problems.push(Problem::new(frame.span, message));
            self.push(frame.close());
        }
        self.root
    }
}

impl Frame {
    fn next_arm(&mut self, condition: Expression, span: Span) {
        self.arms.push(Arm {
            span: std::mem::replace(&mut self.arm_span, span),
            condition: std::mem::replace(&mut self.condition, condition),
            body: std::mem::take(&mut self.body),
        });
    }

    fn close(mut self) -> Node {
        if self.opened.has_arms() {
            self.next_arm(Expression::default(), self.span);
        }
        self.opened.node(self.span, self.arms, self.body)
    }
}
