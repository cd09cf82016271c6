//! What one tag does to the structure: opens a body, starts another arm, closes, or stands alone.

use headwater_text::Span;

use crate::{
    complexity::is_shallow,
    expression::{self, Expression, Statement, Unparsed},
    marks::{inner, keyword},
    problem::Problem,
    tree::{Arm, Node, Reference},
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
        only: Expression,
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
    Block {
        name: String,
    },
    /// Printed if it has a value, which its names hold: `{{#with user}}`.
    Scope {
        names: Vec<(String, Expression)>,
    },
    /// A part that is printed where its name is called, else here.
    Partial(Reference, Expression),
}

/// Tags with a body that is printed in place, though the engine at hand does not know them.
const FOREIGN_GROUPS: [&str; 2] = ["generation", "trans"];

/// Reads an `{{ … }}` tag.
pub(crate) fn read_output(tag: &str, span: Span) -> Result<Vec<Node>, Problem> {
    check_depth(tag, span)?;
    expression::parse_output(tag, span).map_err(|error| unparsed(error, span))
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
        Statement::For {
            targets,
            over,
            only,
        } => Step::Open(
            Opened::For {
                targets,
                over,
                only,
            },
            Expression::default(),
        ),
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
        Statement::Include(names, is_optional) => Step::Node(Node::Include {
            reference: Reference {
                span,
                names,
                is_optional,
            },
            value: Expression::default(),
            fallback: Vec::new(),
        }),
        Statement::Extends(names) => Step::Node(Node::Extends(reference(span, names))),
        Statement::Import { from, alias, names } => Step::Node(Node::Import {
            reference: reference(span, from),
            alias,
            names,
        }),
        Statement::Block(name) => Step::Open(Opened::Block { name }, Expression::default()),
        Statement::Silent => Step::Nothing,
        Statement::Group => open_group(word, Vec::new()),
    }
}

fn reference(span: Span, names: Vec<String>) -> Reference {
    Reference {
        span,
        names,
        is_optional: false,
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
            Self::Block { .. } => "block",
            Self::Scope { .. } => "with",
            Self::Partial(..) => "partial",
        }
    }

    pub(crate) fn has_arms(&self) -> bool {
        matches!(self, Self::If | Self::For { .. } | Self::Scope { .. })
    }

    /// The node of the closed tag. `arms` are those of an `if` or `for`, `body` that of any other.
    pub(crate) fn node(self, span: Span, arms: Vec<Arm>, body: Vec<Node>) -> Node {
        match self {
            Self::If => Node::Branch(arms),
            // An `else` of a loop is printed instead of the body; as text that follows it weighs
            // the same.
            Self::For {
                targets,
                over,
                only,
            } => Node::Loop {
                targets,
                span,
                over,
                only,
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
            Self::Block { name } => Node::Block { name, body },
            Self::Scope { names } => scoped(names, arms),
            Self::Partial(reference, value) => Node::Include {
                reference,
                value,
                fallback: body,
            },
        }
    }
}

/// The first way has the names.
fn scoped(names: Vec<(String, Expression)>, mut arms: Vec<Arm>) -> Node {
    if let Some(first) = arms.first_mut() {
        let body = std::mem::take(&mut first.body);
        first.body.push(Node::Group { names, body });
    }
    Node::Branch(arms)
}
