//! A list of tools, in an order that does not depend on who registered them first.

use std::collections::BTreeSet;

use headwater_text::Span;

use super::error::Fault;
use super::{JsonError, JsonErrorKind as Kind, Node, Style, parse, reader, writer};

/// In which order tools are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ToolOrder {
    /// By name, in rising order of code points. A tool that the provider hosts and that has no
    /// name goes by its `type`.
    #[default]
    ByName,
    /// As the caller lists them, who then has to keep the order.
    AsGiven,
}

impl ToolOrder {
    /// The order's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ByName => "by_name",
            Self::AsGiven => "as_given",
        }
    }
}

/// The canonical text of a list of tools, from the JSON text of the list.
///
/// A tool's name is `function.name` (OpenAI chat), `toolSpec.name` (Bedrock) or `name`
/// (Anthropic, OpenAI responses).
///
/// # Errors
/// What [`canonical`](super::canonical) refuses, a text that is no list, two tools of one name,
/// and, when sorting, a tool with neither name nor type.
pub fn tools(list: &str, order: ToolOrder, style: Style) -> Result<String, JsonError> {
    let document = parse(list)?;
    write_tools(&document, order, style).map_err(|fault| fault.place_in(list))
}

/// The same as [`tools`], from the JSON texts of the single tools.
///
/// ```
/// use headwater::json::{Style, ToolOrder, tool_list};
///
/// let tools = [r#"{"name":"b"}"#, r#"{"name":"a"}"#];
/// let text = tool_list(&tools, ToolOrder::ByName, Style::Spaced)?;
/// assert_eq!(text, r#"[{"name": "a"}, {"name": "b"}]"#);
/// # Ok::<(), headwater::json::JsonError>(())
/// ```
///
/// # Errors
/// As [`tools`]. The pointer starts with the tool's index; byte and position are in that tool's
/// own text.
pub fn tool_list(
    tools: &[impl AsRef<str>],
    order: ToolOrder,
    style: Style,
) -> Result<String, JsonError> {
    let mut list = ToolList::new(order, style);
    for (index, tool) in tools.iter().enumerate() {
        let text = tool.as_ref();
        reader::read(text)
            .and_then(|node| list.add(&node))
            .map_err(|fault| fault.inside(index).place_in(text))?;
    }
    Ok(list.finish())
}

fn write_tools(document: &Node<'_>, order: ToolOrder, style: Style) -> Result<String, Fault> {
    let Some(elements) = document.as_array() else {
        return Err(Fault::new(Kind::NotAList, document.span.start));
    };
    let mut list = ToolList::new(order, style);
    for (index, tool) in elements.iter().enumerate() {
        list.add(tool).map_err(|fault| fault.inside(index))?;
    }
    Ok(list.finish())
}

struct ToolList {
    order: ToolOrder,
    style: Style,
    names: BTreeSet<String>,
    /// What to sort by, and the canonical text, which decides between hosted tools of one type.
    tools: Vec<(String, String)>,
}

impl ToolList {
    fn new(order: ToolOrder, style: Style) -> Self {
        Self {
            order,
            style,
            names: BTreeSet::new(),
            tools: Vec::new(),
        }
    }

    fn add(&mut self, tool: &Node<'_>) -> Result<(), Fault> {
        let label = match (name(tool), self.order) {
            (Some(name), _) => {
                if !self.names.insert(name.text.to_owned()) {
                    return Err(name.fault(Kind::DuplicateTool));
                }
                name.text
            }
            (None, ToolOrder::AsGiven) => "",
            (None, ToolOrder::ByName) => tool
                .member("type")
                .and_then(Node::as_str)
                .ok_or_else(|| Fault::new(Kind::UnnamedTool, tool.span.start))?,
        };
        let mut text = String::new();
        writer::write(tool, self.style, &mut text);
        self.tools.push((label.to_owned(), text));
        Ok(())
    }

    fn finish(mut self) -> String {
        match self.order {
            ToolOrder::ByName => self.tools.sort(),
            ToolOrder::AsGiven => {}
        }
        let texts: Vec<String> = self.tools.into_iter().map(|(_, text)| text).collect();
        format!("[{}]", texts.join(self.style.comma()))
    }
}

/// Where the formats in use keep a tool's name.
const NAME_PATHS: &[&[&str]] = &[&["function", "name"], &["toolSpec", "name"], &["name"]];

struct Name<'a> {
    text: &'a str,
    span: Span,
    path: &'static [&'static str],
}

fn name<'a>(tool: &'a Node<'_>) -> Option<Name<'a>> {
    NAME_PATHS.iter().find_map(|path| {
        let node = path.iter().try_fold(tool, |node, key| node.member(key))?;
        Some(Name {
            text: node.as_str()?,
            span: node.span,
            path,
        })
    })
}

impl Name<'_> {
    fn fault(&self, kind: Kind) -> Fault {
        let fault = Fault::new(kind, self.span.start);
        self.path.iter().rev().fold(fault, Fault::inside)
    }
}
