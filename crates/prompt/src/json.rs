//! Canonical JSON: one text for one value, so that tools, schemas and documents keep their tokens.
//!
//! Two programs that print the same value differ in key order, separators and escapes, and an
//! engine that caches prefixes sees another prompt from the first such byte on. [`canonical`]
//! takes all that away and changes nothing that a model could tell from the value:
//!
//! * keys in rising order of their code points, lists in the caller's order;
//! * numbers as they were written: `1.0`, `1e400`, `-0` and integers of any length;
//! * the separators of a [`Style`];
//! * strings with the fewest escapes: `"`, `\` and control characters, as Python's `json.dumps`
//!   writes them with `ensure_ascii=False`. All other characters stand for themselves.
//!
//! The reader is Headwater's own, since which exact bytes are sent is what Headwater exists for: it
//! keeps numbers as text and knows the place of everything. It takes RFC 8259 and nothing
//! beyond, at most [`MAX_DEPTH`] levels and [`MAX_BYTES`] bytes, and refuses what two readers
//! could understand differently, such as a key that occurs twice or half a surrogate pair.
//!
//! ```
//! use headwater::json::{Style, ToolOrder, canonical, tools};
//!
//! let text = canonical(r#"{"b": 1.0,  "a": "\u00e9"}"#, Style::Spaced)?;
//! assert_eq!(text, r#"{"a": "é", "b": 1.0}"#);
//!
//! let list = r#"[{"name": "search"}, {"name": "fetch"}]"#;
//! let text = tools(list, ToolOrder::ByName, Style::Compact)?;
//! assert_eq!(text, r#"[{"name":"fetch"},{"name":"search"}]"#);
//!
//! let error = canonical(r#"{"limits": {"top/k": NaN}}"#, Style::Compact).unwrap_err();
//! assert_eq!(error.pointer, "/limits/top~1k");
//! assert_eq!((error.byte, error.position.column), (21, 22));
//! # Ok::<(), headwater::json::JsonError>(())
//! ```

mod document;

mod reader;

mod string;

mod number;

mod writer;

mod tools;

mod value;

mod error;

pub use document::{Member, Node, Value, parse};
pub use error::{JsonError, JsonErrorKind};
pub use reader::{MAX_BYTES, MAX_DEPTH};
pub use tools::{ToolOrder, tool_list, tools};
pub use value::from_value;
pub use writer::Style;
pub(crate) use writer::write_string;

/// The one text of the value that `text` spells.
///
/// # Errors
/// Text that is not JSON, or that two readers could understand differently, see
/// [`JsonErrorKind`].
pub fn canonical(text: &str, style: Style) -> Result<String, JsonError> {
    let document = parse(text)?;
    let mut out = String::with_capacity(text.len());
    writer::write(&document, style, &mut out);
    Ok(out)
}
