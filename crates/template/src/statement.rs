//! What one tag does to the structure: opens a body, starts another arm, closes, or stands alone.

use headwater_text::Span;

use crate::{
    complexity::is_shallow,
    expression::{self, Expression, Statement, Unparsed},
    marks::{inner, keyword},
    problem::Problem,
    tree::{Arm, Node},
};

/// The effect of a statement tag.
pub(crate) enum Step {
    Nothing,
    Node(Node),
    Open(Opened, Expression),
    NextArm(Expression),
    Close(String),
}

/// A tag with a body.
pub(crate) enum Opened {
    If,
    For {
        targets: Vec<String>,
        over: Expression,
    },
    Capture {
        target: String,
    },
    Macro {
        name: String,
        parameters: Vec<String>,
        defaults: Vec<Expression>,
    },
    Call(Expression),
    Group {
        keyword: String,
        names: Vec<(String, Expression)>,
    },
}

/// Tags with a body that is printed in place, though the engine at hand does not know them.
const FOREIGN_GROUPS: [&str; 2] = ["generation", "trans"];

/// Reads an `{{ … }}` tag.
pub(crate) fn read_output(tag: &str, span: Span) -> Result<Expression, Problem> {
    check_depth(tag, span)?;
    expression::parse_output(tag, span.start).map_err(|error| unparsed(error, span))
}

/// Reads a `{% … %}` tag.
pub(crate) fn read_statement(tag: &str, span: Span) -> Result<Step, Problem> {
    check_depth(tag, span)?;
    let word = keyword(tag);
    match word {
        "raw" | "endraw" | "pluralize" | "break" | "continue" => return Ok(Step::Nothing),
        "else" => return Ok(Step::NextArm(Expression::default())),
        "elif" => return read_elif(tag, span),
        "" => {
            return Err(Problem::new(
                span,
                "this tag is empty; expected a word such as `if`",
            ));
        }
        _ => {}
    }
    if FOREIGN_GROUPS.contains(&word) {
        return Ok(open_group(word, Vec::new()));
    }
    if let Some(closed) = word.strip_prefix("end") {
        return Ok(Step::Close(closed.to_owned()));
    }
    let end = if has_body(word, tag) {
        format!("{{% end{word} %}}")
    } else {
        String::new()
    };
    let statement = expression::parse_statement(tag, &end, span.start)
        .map_err(|error| unparsed(error, span))?;
    Ok(step(statement, word, span))
}

fn step(statement: Statement, word: &str, span: Span) -> Step {
    match statement {
        Statement::For { targets, over } => {
            Step::Open(Opened::For { targets, over }, Expression::default())
        }
        Statement::If(condition) => Step::Open(Opened::If, condition),
        Statement::Set { target, value } => Step::Node(Node::Set { target, value }),
        Statement::Capture { target } => {
            Step::Open(Opened::Capture { target }, Expression::default())
        }
        Statement::With(names) => open_group(word, names),
        Statement::Macro {
            name,
            parameters,
            defaults,
        } => Step::Open(
            Opened::Macro {
                name,
                parameters,
                defaults,
            },
            Expression::default(),
        ),
        Statement::Call(value) => Step::Open(Opened::Call(value), Expression::default()),
        Statement::Include => Step::Node(Node::Include(span)),
        Statement::Silent => Step::Nothing,
        Statement::Group => open_group(word, Vec::new()),
    }
}

fn read_elif(tag: &str, span: Span) -> Result<Step, Problem> {
    let condition = inner(tag).trim_start_matches("elif").trim_start();
    // `inner` is a part of the tag, so its end tells where it begins.
    let base = span.start + (condition.as_ptr() as usize - tag.as_ptr() as usize);
    expression::parse_condition(condition, base)
        .map(Step::NextArm)
        .map_err(|error| unparsed(error, span))
}

fn open_group(word: &str, names: Vec<(String, Expression)>) -> Step {
    let keyword = word.to_owned();
    Step::Open(Opened::Group { keyword, names }, Expression::default())
}

fn has_body(word: &str, tag: &str) -> bool {
    match word {
        "for" | "if" | "with" | "macro" | "call" | "block" | "filter" | "autoescape" => true,
        // `{% set x %}…{% endset %}` has a body, `{% set x = 1 %}` has none.
        "set" => !tag.contains('='),
        _ => false,
    }
}

fn check_depth(tag: &str, span: Span) -> Result<(), Problem> {
    if is_shallow(tag) {
        return Ok(());
    }
    Err(Problem::new(
        span,
        "this tag is too deeply nested to be read; split it with `set`",
    ))
}

fn unparsed(error: Unparsed, span: Span) -> Problem {
    Problem::new(span, format!("this tag is not valid Jinja: {}", error.0))
}

impl Opened {
    pub(crate) fn keyword(&self) -> &str {
        match self {
            Self::If => "if",
            Self::For { .. } => "for",
            Self::Capture { .. } => "set",
            Self::Macro { .. } => "macro",
            Self::Call(_) => "call",
            Self::Group { keyword, .. } => keyword,
        }
    }

    pub(crate) fn has_arms(&self) -> bool {
        matches!(self, Self::If | Self::For { .. })
    }

    /// The node of the closed tag. `arms` are those of an `if` or `for`, `body` that of any other.
    pub(crate) fn node(self, span: Span, arms: Vec<Arm>, body: Vec<Node>) -> Node {
        match self {
            Self::If => Node::Branch(arms),
            // An `else` of a loop is printed instead of the body; as text that follows it weighs
            // the same.
            Self::For { targets, over } => Node::Loop {
                targets,
                span,
                over,
                body: arms.into_iter().flat_map(|arm| arm.body).collect(),
            },
            Self::Capture { target } => Node::Capture { target, body },
            Self::Macro {
                name,
                parameters,
                defaults,
            } => Node::Macro {
                name,
                parameters,
                defaults,
                body,
            },
            Self::Call(value) => Node::Call { span, value, body },
            Self::Group { names, .. } => Node::Group { names, body },
        }
    }
}
