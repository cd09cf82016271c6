//! Tools in the form that an endpoint takes. Descriptions and schemas keep the signed bytes.

use super::{
    Api, BodyError, ToolProblem,
    ordered::{Ordered, object, raw, text},
};
use crate::json::{Member, Node, Value, parse};

/// How a tool is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `{"type": "function", "function": {…}}`
    Chat,
    /// `{"type": "function", "name": …}`
    Responses,
    /// With `input_schema`.
    Anthropic,
    /// `{"toolSpec": {…}}`
    Bedrock,
    /// A bare declaration, with a name and no type.
    Gemini,
    /// What the provider itself runs, in a form of its own.
    Hosted,
}

/// A tool in the endpoint's form.
pub(super) struct Tool<'a> {
    /// [`Form::Hosted`], or the form that was asked for.
    pub(super) form: Form,
    pub(super) json: Ordered<'a>,
}

/// What markers are called in the forms of tools and media.
const MARKERS: [&str; 3] = ["cache_control", "cachePoint", "prompt_cache_breakpoint"];

/// The tools of a canonical list in another form.
pub(super) fn convert(api: Api, list: &str, form: Form) -> Result<Vec<Tool<'_>>, BodyError> {
    let refuse = |tool: String, problem| BodyError::Tool { api, tool, problem };
    let tools = parse(list).map_err(|error| refuse("*".to_owned(), ToolProblem::Json(error)))?;
    let tools = tools.as_array().unwrap_or_default().iter().enumerate();
    let convert = |(index, node): (usize, &Node<'_>)| {
        let reader = Reader { list, node };
        reader
            .convert(form)
            .map_err(|problem| refuse(reader.name(index), problem))
    };
    tools.map(convert).collect()
}

/// A marker in an object's own members.
pub(super) fn marker_in<'a>(mut keys: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    keys.find(|key| MARKERS.contains(key))
}

struct Reader<'a, 'n> {
    list: &'a str,
    node: &'n Node<'n>,
}

/// A tool's parts as they are written.
#[derive(Default)]
struct Parts<'a> {
    name: Option<&'a str>,
    description: Option<&'a str>,
    schema: Option<&'a str>,
    strict: Option<&'a str>,
}

impl<'a> Reader<'a, '_> {
    fn convert(&self, target: Form) -> Result<Tool<'a>, ToolProblem> {
        let keys = members(self.node).iter().map(|member| &*member.key);
        if let Some(marker) = marker_in(keys) {
            return Err(ToolProblem::Marker(marker.to_owned()));
        }
        let form = self.form();
        if form == target || form == Form::Hosted {
            let json = raw(self.raw(self.node));
            return Ok(Tool { form, json });
        }
        let json = self.parts(form)?.write(target)?;
        Ok(Tool { form: target, json })
    }

    fn form(&self) -> Form {
        let has = |key| self.node.member(key).is_some();
        let kind = self.node.member("type").and_then(Node::as_str);
        if has("function") {
            Form::Chat
        } else if has("toolSpec") {
            Form::Bedrock
        } else if has("input_schema") {
            Form::Anthropic
        } else {
            match (kind, has("name")) {
                (Some("function"), true) => Form::Responses,
                (None, true) => Form::Gemini,
                _ => Form::Hosted,
            }
        }
    }

    fn parts(&self, form: Form) -> Result<Parts<'a>, ToolProblem> {
        let mut parts = Parts::default();
        self.read(form, self.node, &mut parts)?;
        Ok(parts)
    }

    fn read(&self, form: Form, node: &Node<'_>, parts: &mut Parts<'a>) -> Result<(), ToolProblem> {
        for Member { key, node, .. } in members(node) {
            match (&**key, form) {
                ("function", Form::Chat) | ("toolSpec", Form::Bedrock) => {
                    self.read(form, node, parts)?;
                }
                ("type", _) => {}
                ("name", _) => parts.name = Some(self.raw(node)),
                ("description", _) => parts.description = Some(self.raw(node)),
                ("strict", _) => parts.strict = Some(self.raw(node)),
                ("inputSchema", Form::Bedrock) => {
                    parts.schema = node.member("json").map(|schema| self.raw(schema));
                }
                ("input_schema", Form::Anthropic)
                | ("parameters", Form::Chat | Form::Responses | Form::Gemini)
                | ("parametersJsonSchema", Form::Gemini) => parts.schema = Some(self.raw(node)),
                (other, _) => return Err(ToolProblem::Member(other.to_owned())),
            }
        }
        Ok(())
    }

    fn raw(&self, node: &Node<'_>) -> &'a str {
        self.list
            .get(node.span.start..node.span.end)
            .unwrap_or_default()
    }

    fn name(&self, index: usize) -> String {
        let mut inner = ["function", "toolSpec"].iter();
        let inner = inner.find_map(|key| self.node.member(key));
        let name = inner.unwrap_or(self.node).member("name");
        name.and_then(Node::as_str)
            .map_or_else(|| index.to_string(), str::to_owned)
    }
}

fn members<'n>(node: &'n Node<'_>) -> &'n [Member<'n>] {
    match &node.value {
        Value::Object(members) => members,
        _ => &[],
    }
}

/// A tool without a schema takes nothing.
const NO_ARGUMENTS: &str = r#"{"type":"object","properties":{}}"#;

impl<'a> Parts<'a> {
    fn write(self, form: Form) -> Result<Ordered<'a>, ToolProblem> {
        let named = object([]).with_some(self.name.map(|name| ("name".into(), raw(name))));
        let described = |object: Ordered<'a>| {
            object.with_some(self.description.map(|it| ("description".into(), raw(it))))
        };
        let strict = self.strict.map(|it| ("strict".into(), raw(it)));
        let schema = self.schema.map(raw);
        let needed = || raw(self.schema.unwrap_or(NO_ARGUMENTS));
        let optional = |key: &'static str, object: Ordered<'a>| {
            object.with_some(schema.clone().map(|schema| (key.into(), schema)))
        };
        Ok(match form {
            Form::Chat => object([
                ("type", text("function")),
                (
                    "function",
                    optional("parameters", described(named)).with_some(strict),
                ),
            ]),
            Form::Responses => {
                let kind = object([("type", text("function"))])
                    .with_some(self.name.map(|name| ("name".into(), raw(name))));
                // Strict by default in this form, and in no other.
                let strict = strict.unwrap_or(("strict".into(), raw("false")));
                described(kind)
                    .with("parameters", needed())
                    .with_some(Some(strict))
            }
            Form::Anthropic => described(named)
                .with("input_schema", needed())
                .with_some(strict),
            Form::Bedrock => {
                let spec = described(named).with("inputSchema", object([("json", needed())]));
                object([("toolSpec", spec.with_some(strict))])
            }
            Form::Gemini => match self.strict {
                None | Some("false") => optional("parametersJsonSchema", described(named)),
                Some(_) => return Err(ToolProblem::Member("strict".to_owned())),
            },
            // Never asked for.
            Form::Hosted => named,
        })
    }
}
