//! The structure of a template: bodies inside tags. Built without recursion; any input has a tree.

use headwater_text::Span;

use crate::{
    expression::Expression,
    marks::{Mark, MarkKind},
    problem::Problem,
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
    Loop {
        targets: Vec<String>,
        span: Span,
        over: Expression,
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
    /// Text from another file.
    Include(Span),
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
    /// From `{#` to `#}`.
    pub span: Span,
    /// What stands between the delimiters, without white space around it.
    pub text: String,
}

/// A tag whose end has not been seen yet.
struct Frame {
    opened: Opened,
    span: Span,
    /// Earlier arms of an `if` or `for`.
    arms: Vec<Arm>,
    arm_span: Span,
    condition: Expression,
    body: Vec<Node>,
}

/// Builds the tree of `marks`.
pub(crate) fn build(text: &str, marks: &[Mark], problems: &mut Vec<Problem>) -> Vec<Node> {
    let mut builder = Builder {
        root: Vec::new(),
        frames: Vec::new(),
    };
    for mark in marks {
        let source = &text[mark.span.start..mark.span.end];
        match mark.kind {
            MarkKind::Text => builder.push(Node::Text(mark.span)),
            MarkKind::Comment => {}
            MarkKind::Output => match crate::statement::read_output(source, mark.span) {
                Ok(value) => builder.push(Node::Output {
                    span: mark.span,
                    value,
                }),
                Err(problem) => problems.push(problem),
            },
            MarkKind::Statement => match read_statement(source, mark.span) {
                Ok(step) => builder.step(step, mark.span, problems),
                Err(problem) => problems.push(problem),
            },
        }
        if builder.frames.len() > MAX_NESTING {
            let message = format!("tags nest deeper than {MAX_NESTING}; flatten the template");
            problems.push(Problem::new(mark.span, message));
            // That the open tags are not closed is no news.
            return builder.finish(&mut Vec::new());
        }
    }
    builder.finish(problems)
}

struct Builder {
    root: Vec<Node>,
    frames: Vec<Frame>,
}

impl Builder {
    fn push(&mut self, node: Node) {
        match self.frames.last_mut() {
            Some(frame) => frame.body.push(node),
            None => self.root.push(node),
        }
    }

    fn step(&mut self, step: Step, span: Span, problems: &mut Vec<Problem>) {
        match step {
            Step::Node(node) => self.push(node),
            Step::Nothing => {}
            Step::Open(opened, condition) => self.frames.push(Frame {
                opened,
                span,
                arms: Vec::new(),
                arm_span: span,
                condition,
                body: Vec::new(),
            }),
            Step::NextArm(condition) => match self.frames.last_mut() {
                Some(frame) if frame.opened.has_arms() => frame.next_arm(condition, span),
                _ => problems.push(Problem::new(
                    span,
                    "`else` without an `if` or `for` before it",
                )),
            },
            Step::Close(keyword) => match self.frames.pop() {
                Some(frame) if frame.opened.keyword() == keyword => self.push(frame.close()),
                Some(frame) => {
                    let message = format!(
                        "`end{keyword}` closes nothing here; expected `end{}`",
                        frame.opened.keyword()
                    );
                    problems.push(Problem::new(span, message));
                    self.frames.push(frame);
                }
                None => problems.push(Problem::new(
                    span,
                    format!("`end{keyword}` without a `{keyword}` before it"),
                )),
            },
        }
    }

    fn finish(mut self, problems: &mut Vec<Problem>) -> Vec<Node> {
        while let Some(frame) = self.frames.pop() {
            let keyword = frame.opened.keyword();
            problems.push(Problem::new(
                frame.span,
                format!("`{keyword}` is never closed; add `{{% end{keyword} %}}`"),
            ));
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
