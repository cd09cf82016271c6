//! A prompt template as data: its source, its syntax with byte spans, and the order in which its
//! static text and its values reach the model.
//!
//! ```text
//! file ─► Document ─► Template { source, pieces, parts, markers, declared volatility, problems }
//! ```
//!
//! [`read`] takes a file of any [`Format`]: a template in one of the languages of [`Dialect`], or JSON
//! and YAML that hold prompts as strings. All offsets of a template are bytes of its own text;
//! [`Source::in_file`] leads to the file, through escapes and indentation.
//!
//! A prefix cache reuses a prompt up to the first byte that differs. So what matters about a template
//! is not what it prints but *in which order*: every [`Piece`] knows how much static text follows it.
//! Parsing never fails. What cannot be understood is a [`Problem`] with a place.
//!
//! ```
//! use headwater_template::{Dialect, PieceKind, Source, Template};
//!
//! let source = Source::from_bytes(b"Now: {{ now }}\nYou are a clerk who answers politely.").unwrap();
//! let template = Template::parse(source, Dialect::Jinja);
//! let value = &template.pieces()[1];
//! assert!(matches!(&value.kind, PieceKind::Value(e) if e.atoms[0].path == "now"));
//! assert_eq!(value.static_bytes_after, 37);
//! ```
//!
//! To render: a [`ChatTemplate`] makes the text that a model's chat template is meant to make, and a
//! [`PromptTemplate`] is a template of one's own, in cache order, whose text comes in parts by
//! [`Volatility`].
//!
//! It never reads a clock or a file (other files that a template includes are asked of the caller), or
//! decides what a name means: that `now` is a clock is the linter's knowledge.

mod complexity;
mod container;
mod dialect;
mod document;
mod expression;
mod flow;
mod format;
mod formats;
mod front_matter;
mod language;
mod marks;
mod measure;
mod notation;
mod offset_map;
mod order;
mod part;
mod piece;
mod problem;
mod prompt_template;
mod render;
mod role;
mod scope;
mod source;
mod stability;
mod statement;
mod syntax;
mod template;
mod tree;
mod units;
mod variants;
mod weight;

pub use headwater_text::{Position, Span};

pub use crate::{
    dialect::Dialect,
    document::{Document, Note, NoteKind, may_hold_prompts, read},
    expression::{Atom, AtomKind, Expression},
    format::Format,
    front_matter::Volatility,
    order::{MIN_PROSE_BYTES, OrderFault},
    part::{ApiKind, Marker, MarkerPlace, Part, PartKind},
    piece::{Piece, PieceKind},
    problem::Problem,
    prompt_template::{LoadError, PromptTemplate},
    render::{
        ChatTemplate, Limits, Moment, RenderError, RenderErrorKind, RenderOptions, Values,
        ValuesError,
    },
    role::Role,
    source::{MAX_SOURCE_BYTES, Source, SourceError, SourceErrorKind, SourceFile},
    template::Template,
    tree::Comment,
};
