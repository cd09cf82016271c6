//! A template in cache order, rendered into text by volatility.

use std::{collections::BTreeMap, fmt};

use headwater_text::Position;

use crate::{
    ChatTemplate, Dialect, OrderFault, Piece, PieceKind, RenderError, RenderOptions, Source,
    Template, Values, Volatility,
    marks::scan,
    stability::{Stability, analyse},
    tree,
};

/// A template whose variables are declared and stand in the order static, semi-static, dynamic.
///
/// ```
/// use headwater_template::{PromptTemplate, Source, Values, Volatility};
///
/// let source = Source::from_bytes(b"\
/// {# headwater: {volatility: {rules: static, customer: semi_static, question: dynamic}} #}
/// You answer questions about the harbour. {{ rules }}
/// Customer: {{ customer }}
/// Question: {{ question }}").unwrap();
/// let template = PromptTemplate::load(source)?;
/// let values = Values::new()
///     .with("rules", "Be brief.")
///     .with("customer", "North Quay")
///     .with("question", "When is high tide?");
/// let parts = template.render(&values, &Default::default())?;
/// assert_eq!(parts, [
///     (Volatility::Static, "You answer questions about the harbour. Be brief.\nCustomer: ".to_owned()),
///     (Volatility::SemiStatic, "North Quay\nQuestion: ".to_owned()),
///     (Volatility::Dynamic, "When is high tide?".to_owned()),
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PromptTemplate {
    template: ChatTemplate,
}

impl PromptTemplate {
    /// Loads a template that declares all its variables itself.
    ///
    /// # Errors
    /// As [`load_with`](Self::load_with).
    pub fn load(source: Source) -> Result<Self, LoadError> {
        Self::load_with(source, &BTreeMap::new())
    }

    /// Loads a template; what it does not declare itself is looked up in `declared`.
    ///
    /// # Errors
    /// The template is not valid; a variable is not declared; a value stands ahead of static text
    /// that is more stable than it (the linter's HW101 or HW102, in its words), or a semi-static
    /// value behind a dynamic one.
    pub fn load_with(
        source: Source,
        declared: &BTreeMap<String, Volatility>,
    ) -> Result<Self, LoadError> {
        let template = Template::parse(source, Dialect::Jinja).with_declared(declared);
        if let Some(problem) = template.problems().first() {
            let error = RenderError::of_problem(template.source(), problem);
            return Err(LoadError::Invalid(error));
        }
        let stability = stability(&template);
        if let Some((name, span)) = stability.undeclared.first() {
            return Err(LoadError::Undeclared {
                name: name.clone(),
                position: template.source().position(span.start),
            });
        }
        let faults = template.order_faults();
        if !faults.is_empty() {
            return Err(LoadError::OutOfOrder(faults));
        }
        behind(&template)?;
        ChatTemplate::with_borders(template.source().clone(), &stability.borders)
            .map(|template| Self { template })
            .map_err(LoadError::Invalid)
    }

    /// The prompt, cut where it begins to depend on semi-static and on dynamic values: at most one
    /// part of each volatility, in order, none of them empty. Put together they are the prompt.
    ///
    /// A part is as volatile as the most volatile value that its first byte, or a byte before it,
    /// may depend on: static text behind a dynamic value is dynamic, since it is computed again.
    ///
    /// # Errors
    /// As [`ChatTemplate::render`].
    pub fn render(
        &self,
        values: &Values,
        options: &RenderOptions,
    ) -> Result<Vec<(Volatility, String)>, RenderError> {
        let rendered = self.template.render_with_borders(values, options)?;
        let cuts = [
            0,
            rendered.semi_static_from,
            rendered.dynamic_from,
            rendered.text.len(),
        ];
        let parts = Volatility::ALL.into_iter().zip(cuts.windows(2));
        Ok(parts
            .filter_map(|(volatility, cut)| {
                let text = rendered.text.get(cut[0]..cut[1])?;
                (!text.is_empty()).then(|| (volatility, text.to_owned()))
            })
            .collect())
    }
}

fn stability(template: &Template) -> Stability {
    let text = template.source().text();
    // The problems are known by now.
    let mut problems = Vec::new();
    let marks = scan(text, template.body_start(), &mut problems);
    let tree = tree::build(text, &marks, &mut problems);
    analyse(&tree, |atom| template.volatility(atom))
}

/// Refuses a semi-static value behind a dynamic one: it could never be reused.
fn behind(template: &Template) -> Result<(), LoadError> {
    let place = |piece: &Piece, volatility| {
        let (PieceKind::Value(value) | PieceKind::Loop(value)) = &piece.kind else {
            return None;
        };
        let atom = template.declared(value, volatility)?;
        Some((
            atom.path.clone(),
            template.source().position(piece.span.start),
        ))
    };
    let mut earlier = None;
    for piece in template.pieces() {
        let dynamic = place(piece, Volatility::Dynamic);
        if let (Some((earlier, _)), None) = (&earlier, &dynamic)
            && let Some((name, position)) = place(piece, Volatility::SemiStatic)
        {
            return Err(LoadError::Behind {
                name,
                position,
                earlier: String::clone(earlier),
            });
        }
        earlier = earlier.or(dynamic);
    }
    Ok(())
}

/// Why a template is not one that an engine can reuse.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be compiled.
    Invalid(RenderError),
    /// Nothing says how often a variable changes.
    Undeclared {
        /// The variable.
        name: String,
        /// Where it is read first.
        position: Position,
    },
    /// Values stand ahead of static text; the linter reports each of them.
    OutOfOrder(Vec<OrderFault>),
    /// A semi-static value stands behind a dynamic one.
    Behind {
        /// The semi-static value.
        name: String,
        /// Where it stands.
        position: Position,
        /// The dynamic value.
        earlier: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = headwater_text::shown;
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::Undeclared { name, position } => {
                let name = shown(name);
                write!(
                    f,
                    "{position}: nothing says how often `{name}` changes; declare it at the top of \
                     the template: {{# headwater: {{volatility: {{{name}: dynamic}}}} #}}"
                )
            }
            Self::OutOfOrder(faults) => {
                for (index, fault) in faults.iter().enumerate() {
                    let line_end = if index > 0 { "\n" } else { "" };
                    write!(f, "{line_end}{fault}; {}", fault.help())?;
                }
                Ok(())
            }
            Self::Behind {
                name,
                position,
                earlier,
            } => write!(
                f,
                "{position}: `{}` (semi_static) stands behind `{}` (dynamic), which changes more \
                 often; put static before semi_static before dynamic",
                shown(name),
                shown(earlier)
            ),
        }
    }
}

impl std::error::Error for LoadError {}
