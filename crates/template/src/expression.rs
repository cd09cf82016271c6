//! What an expression reads and does. The one file that touches the template engine's syntax tree.

use headwater_text::Span;
use minijinja::machinery::{self, WhitespaceConfig, ast};

use crate::tree::Node;

/// An expression, reduced to what decides whether its value is stable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expression {
    /// Variables, calls and filters in the order in which they are applied.
    pub atoms: Vec<Atom>,
}

/// One variable, call or filter inside an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// What it is.
    pub kind: AtomKind,
    /// Its last name: `name` of `user.name`, `tojson`.
    pub name: String,
    /// Its whole path: `user.name`; equal to the name where there is no path.
    pub path: String,
    /// Names of keyword arguments, without those whose value is a literal `false` or `none`.
    pub keywords: Vec<String>,
    /// Where it stands in the source.
    pub span: Span,
    /// It stands at another place than the expression that it is part of: behind a `set` or a loop.
    pub derived: bool,
}

/// Kinds of [`Atom`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AtomKind {
    /// A variable with its attributes.
    Variable,
    /// A call of a name: `now()`.
    Function,
    /// A call of an attribute: `tools.items()`.
    Method,
    /// A filter: `x | tojson`.
    Filter,
}

impl Atom {
    /// The first name of the path: `user` of `user.name`.
    pub fn root(&self) -> &str {
        self.path.split('.').next().unwrap_or_default()
    }
}

/// A statement tag, without the body that follows it.
#[derive(Debug)]
pub(crate) enum Statement {
    For {
        targets: Vec<String>,
        over: Expression,
        /// `if` behind the value: which items are taken.
        only: Expression,
    },
    If(Expression),
    Set {
        target: String,
        value: Expression,
    },
    Capture {
        target: String,
    },
    With(Vec<(String, Expression)>),
    Macro {
        name: String,
        parameters: Vec<String>,
        defaults: Vec<Expression>,
    },
    Call(Expression),
    /// It brings text from the first of these that there is, perhaps from none.
    Include(Vec<String>, bool),
    Extends(Vec<String>),
    Import {
        from: Vec<String>,
        alias: Option<String>,
        names: Vec<(String, String)>,
    },
    /// It prints nothing: `do`, `break`.
    Silent,
    Block(String),
    /// Its body is printed where it stands: `filter`, `autoescape`.
    Group,
}

/// A tag that the engine does not parse, in its words.
#[derive(Debug)]
pub(crate) struct Unparsed(pub(crate) String);

/// Parses a whole `{{ … }}` tag that stands at `span` of the source: what it prints, in order.
pub(crate) fn parse_output(tag: &str, span: Span) -> Result<Vec<Node>, Unparsed> {
    with_first_child(tag, |stmt| match stmt {
        ast::Stmt::EmitExpr(emit) => Ok(printed(&emit.expr, span)),
        _ => Err(Unparsed("expected an expression".to_owned())),
    })
}

/// A printed expression, cut at the texts in it: `'Now: ' ~ now`.
fn printed(expr: &ast::Expr<'_>, span: Span) -> Vec<Node> {
    let mut operands = Vec::new();
    concatenated(expr, &mut operands);
    let texts = operands
        .iter()
        .filter_map(|operand| operand.as_const().map(|value| value.as_str().is_some()));
    if !texts.into_iter().any(|is_text| is_text) {
        let value = reduce(expr, span.start);
        return vec![Node::Output { span, value }];
    }
    let mut nodes = Vec::new();
    for operand in operands {
        let constant = operand.as_const();
        match constant.as_ref().and_then(|value| value.as_str()) {
            Some(text) => nodes.push(Node::Literal {
                span: place(operand, span.start),
                text: text.to_owned(),
            }),
            None => {
                let value = reduce(operand, span.start);
                nodes.push(Node::Output { span, value });
            }
        }
    }
    nodes
}

/// The operands of a chain of `+` and `~`, from the left.
fn concatenated<'e, 's>(expr: &'e ast::Expr<'s>, operands: &mut Vec<&'e ast::Expr<'s>>) {
    match expr {
        ast::Expr::BinOp(node)
            if matches!(node.op, ast::BinOpKind::Add | ast::BinOpKind::Concat) =>
        {
            concatenated(&node.left, operands);
            concatenated(&node.right, operands);
        }
        _ => operands.push(expr),
    }
}

fn place(expr: &ast::Expr<'_>, base: usize) -> Span {
    let span = whole(expr, expr.span());
    let offset = |at: u32| base + usize::try_from(at).unwrap_or_default();
    Span::new(offset(span.start_offset), offset(span.end_offset))
}

/// The names of templates that an expression gives; none if only the rendering tells.
fn template_names(expr: &ast::Expr<'_>) -> Vec<String> {
    let Some(value) = expr.as_const() else {
        return Vec::new();
    };
    match value.as_str() {
        Some(name) => vec![name.to_owned()],
        None => {
            let names = value.try_iter().into_iter().flatten();
            names
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect()
        }
    }
}

/// Parses the condition of an `elif` from byte `base` of the source.
pub(crate) fn parse_condition(text: &str, base: usize) -> Result<Expression, Unparsed> {
    let expr = machinery::parse_expr(text).map_err(in_words)?;
    Ok(reduce(&expr, base))
}

/// Parses a whole `{% … %}` tag that begins at byte `base` of the source.
///
/// `end` closes a tag that has a body: `{% endfor %}`.
pub(crate) fn parse_statement(tag: &str, end: &str, base: usize) -> Result<Statement, Unparsed> {
    let closed = format!("{tag}{end}");
    with_first_child(&closed, |stmt| Ok(statement(stmt, base)))
}

fn statement(stmt: &ast::Stmt<'_>, base: usize) -> Statement {
    match stmt {
        ast::Stmt::ForLoop(node) => Statement::For {
            targets: names(&node.target),
            over: reduce(&node.iter, base),
            only: node
                .filter_expr
                .as_ref()
                .map(|expr| reduce(expr, base))
                .unwrap_or_default(),
        },
        ast::Stmt::IfCond(node) => Statement::If(reduce(&node.expr, base)),
        ast::Stmt::Set(node) => Statement::Set {
            target: names(&node.target).into_iter().next().unwrap_or_default(),
            value: reduce(&node.expr, base),
        },
        ast::Stmt::SetBlock(node) => Statement::Capture {
            target: names(&node.target).into_iter().next().unwrap_or_default(),
        },
        ast::Stmt::WithBlock(node) => Statement::With(
            node.assignments
                .iter()
                .flat_map(|(target, value)| {
                    let value = reduce(value, base);
                    names(target)
                        .into_iter()
                        .map(move |name| (name, value.clone()))
                })
                .collect(),
        ),
        ast::Stmt::Macro(node) => Statement::Macro {
            name: node.name.to_owned(),
            parameters: node.args.iter().flat_map(names).collect(),
            defaults: node
                .defaults
                .iter()
                .map(|expr| reduce(expr, base))
                .collect(),
        },
        ast::Stmt::CallBlock(node) => {
            let mut atoms = Atoms {
                base,
                found: Vec::new(),
            };
            atoms.call(&node.call, node.call.span());
            Statement::Call(Expression { atoms: atoms.found })
        }
        ast::Stmt::Include(node) => {
            Statement::Include(template_names(&node.name), node.ignore_missing)
        }
        ast::Stmt::Extends(node) => Statement::Extends(template_names(&node.name)),
        ast::Stmt::Import(node) => Statement::Import {
            from: template_names(&node.expr),
            alias: names(&node.name).into_iter().next(),
            names: Vec::new(),
        },
        ast::Stmt::FromImport(node) => Statement::Import {
            from: template_names(&node.expr),
            alias: None,
            names: node.names.iter().filter_map(imported).collect(),
        },
        ast::Stmt::Block(node) => Statement::Block(node.name.to_owned()),
        ast::Stmt::Do(_) | ast::Stmt::Continue(_) | ast::Stmt::Break(_) => Statement::Silent,
        ast::Stmt::Template(_)
        | ast::Stmt::EmitExpr(_)
        | ast::Stmt::EmitRaw(_)
        | ast::Stmt::AutoEscape(_)
        | ast::Stmt::FilterBlock(_) => Statement::Group,
    }
}

fn with_first_child<T>(
    tag: &str,
    read: impl FnOnce(&ast::Stmt<'_>) -> Result<T, Unparsed>,
) -> Result<T, Unparsed> {
    // White space settings do not matter: static text never comes from this tree.
    let whitespace = WhitespaceConfig::default();
    let root = machinery::parse(tag, "", Default::default(), whitespace).map_err(in_words)?;
    let ast::Stmt::Template(template) = &root else {
        return Err(Unparsed("expected a tag".to_owned()));
    };
    let child = template.children.first();
    read(child.ok_or_else(|| Unparsed("expected a tag".to_owned()))?)
}

fn in_words(error: minijinja::Error) -> Unparsed {
    Unparsed(error.detail().unwrap_or("syntax error").to_owned())
}

/// The names that a target binds; `ns.x` binds `ns`.
fn names(target: &ast::Expr<'_>) -> Vec<String> {
    match target {
        ast::Expr::Var(var) => vec![var.id.to_owned()],
        ast::Expr::GetAttr(get) => names(&get.expr),
        ast::Expr::List(list) => list.items.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

fn reduce(expr: &ast::Expr<'_>, base: usize) -> Expression {
    let mut atoms = Atoms {
        base,
        found: Vec::new(),
    };
    atoms.visit(expr);
    Expression { atoms: atoms.found }
}

struct Atoms {
    base: usize,
    found: Vec<Atom>,
}

impl Atoms {
    fn visit(&mut self, expr: &ast::Expr<'_>) {
        if let Some(path) = path(expr) {
            return self.push(AtomKind::Variable, path, whole(expr, expr.span()));
        }
        match expr {
            ast::Expr::Var(_) | ast::Expr::Const(_) => {}
            ast::Expr::Slice(node) => {
                self.visit(&node.expr);
                let bounds = [&node.start, &node.stop, &node.step];
                bounds
                    .into_iter()
                    .flatten()
                    .for_each(|bound| self.visit(bound));
            }
            ast::Expr::UnaryOp(node) => self.visit(&node.expr),
            ast::Expr::BinOp(node) => {
                self.visit(&node.left);
                self.visit(&node.right);
            }
            ast::Expr::Compare(node) => {
                self.visit(&node.expr);
                node.ops.iter().for_each(|op| self.visit(&op.expr));
            }
            ast::Expr::IfExpr(node) => {
                self.visit(&node.test_expr);
                self.visit(&node.true_expr);
                node.false_expr.iter().for_each(|expr| self.visit(expr));
            }
            ast::Expr::Filter(node) => {
                node.expr.iter().for_each(|expr| self.visit(expr));
                self.arguments(&node.args);
                self.push(AtomKind::Filter, node.name.to_owned(), node.span());
                self.keywords(&node.args);
            }
            ast::Expr::Test(node) => {
                self.visit(&node.expr);
                self.arguments(&node.args);
            }
            ast::Expr::GetAttr(node) => self.visit(&node.expr),
            ast::Expr::GetItem(node) => {
                self.visit(&node.expr);
                self.visit(&node.subscript_expr);
            }
            ast::Expr::Call(node) => self.call(node, node.span()),
            ast::Expr::List(node) => node.items.iter().for_each(|item| self.visit(item)),
            ast::Expr::Map(node) => {
                node.keys
                    .iter()
                    .chain(&node.values)
                    .for_each(|part| self.visit(part));
            }
        }
    }

    fn call(&mut self, call: &ast::Call<'_>, span: machinery::Span) {
        self.arguments(&call.args);
        match &call.expr {
            ast::Expr::Var(var) => self.push(AtomKind::Function, var.id.to_owned(), span),
            ast::Expr::GetAttr(get) => {
                self.visit(&get.expr);
                let receiver = path(&get.expr).unwrap_or_default();
                let path = format!("{receiver}.{}", get.name);
                let path = path.trim_start_matches('.').to_owned();
                self.push(AtomKind::Method, path, whole(&get.expr, span));
            }
            other => self.visit(other),
        }
        self.keywords(&call.args);
    }

    fn arguments(&mut self, args: &[ast::CallArg<'_>]) {
        for arg in args {
            let (ast::CallArg::Pos(expr)
            | ast::CallArg::Kwarg(_, expr)
            | ast::CallArg::PosSplat(expr)
            | ast::CallArg::KwargSplat(expr)) = arg;
            self.visit(expr);
        }
    }

    /// Adds the keywords of a call to the atom pushed last, which is the call.
    fn keywords(&mut self, args: &[ast::CallArg<'_>]) {
        let Some(atom) = self.found.last_mut() else {
            return;
        };
        for arg in args {
            let ast::CallArg::Kwarg(name, value) = arg else {
                continue;
            };
            if value.as_const().is_none_or(|value| value.is_true()) {
                atom.keywords.push((*name).to_owned());
            }
        }
    }

    fn push(&mut self, kind: AtomKind, path: String, span: machinery::Span) {
        let offset = |at: u32| self.base + usize::try_from(at).unwrap_or(usize::MAX - self.base);
        self.found.push(Atom {
            kind,
            name: path.rsplit('.').next().unwrap_or_default().to_owned(),
            path,
            keywords: Vec::new(),
            span: Span {
                start: offset(span.start_offset),
                end: offset(span.end_offset),
            },
            derived: false,
        });
    }
}

/// The name of a macro where it is defined, and where it is imported.
fn imported((name, alias): &(ast::Expr<'_>, Option<ast::Expr<'_>>)) -> Option<(String, String)> {
    let name = names(name).into_iter().next()?;
    let alias = alias
        .as_ref()
        .and_then(|alias| names(alias).into_iter().next());
    let here = alias.unwrap_or_else(|| name.clone());
    Some((name, here))
}

/// The span of a path or call with what it hangs on: the parser's own begins at the last dot.
fn whole(expr: &ast::Expr<'_>, mut span: machinery::Span) -> machinery::Span {
    let mut inner = expr;
    loop {
        span.start_offset = span.start_offset.min(inner.span().start_offset);
        inner = match inner {
            ast::Expr::GetAttr(node) => &node.expr,
            ast::Expr::GetItem(node) => &node.expr,
            ast::Expr::Slice(node) => &node.expr,
            ast::Expr::Call(node) => &node.expr,
            _ => return span,
        };
    }
}

/// `a.b["c"]` as `a.b.c`; nothing for an expression that is more than a path.
fn path(expr: &ast::Expr<'_>) -> Option<String> {
    match expr {
        ast::Expr::Var(var) => Some(var.id.to_owned()),
        ast::Expr::GetAttr(get) => Some(format!("{}.{}", path(&get.expr)?, get.name)),
        ast::Expr::GetItem(get) => match get.subscript_expr.as_const()?.as_str() {
            Some(key) => Some(format!("{}.{key}", path(&get.expr)?)),
            None => path(&get.expr),
        },
        _ => None,
    }
}
