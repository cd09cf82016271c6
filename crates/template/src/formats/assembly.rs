//! Puts strings of a file together to the text of one prompt.

use headwater_text::Span;

use crate::{
    container::{Data, Text, Value},
    dialect::Dialect,
    notation::Notation,
    offset_map::Decoder,
    part::{ApiKind, Marker, MarkerPlace, Part, PartKind},
    role::Role,
    source::Source,
    template::Draft,
};

/// A prompt that is put together in the order in which the model reads it.
pub(super) struct Assembly<'s> {
    /// What the strings are written in: a file, or a string in a file.
    within: &'s Source,
    decoder: Decoder,
    pub(super) parts: Vec<Part>,
    markers: Vec<Marker>,
}

impl<'s> Assembly<'s> {
    pub(super) fn new(within: &'s Source) -> Self {
        Self {
            within,
            decoder: Decoder::default(),
            parts: Vec::new(),
            markers: Vec::new(),
        }
    }

    /// Adds what a string says.
    pub(super) fn text(&mut self, text: &Text<'_>, role: Role, message: Option<usize>) {
        let start = self.decoder.text.len();
        self.decoder.append(&text.decode(self.within.text()));
        self.part(start, role, PartKind::Text, message);
    }

    /// Adds what examples look like.
    pub(super) fn example(&mut self, text: &Text<'_>, message: Option<usize>) {
        let start = self.decoder.text.len();
        self.decoder.append(&text.decode(self.within.text()));
        self.part(start, Role::Other, PartKind::Example, message);
    }

    /// Adds the messages of a conversation, which come in the place of a name: `x` or `{x}`.
    pub(super) fn history(&mut self, name: &Text<'_>, role: Role, message: Option<usize>) {
        if let Some(inside) = in_braces(name, self.within.text()) {
            return self.raw(inside, role, PartKind::History, message);
        }
        let start = self.decoder.text.len();
        self.decoder.append(&name.decode(self.within.text()));
        self.part(start, role, PartKind::History, message);
    }

    /// Adds a value as it is written.
    pub(super) fn raw(&mut self, span: Span, role: Role, kind: PartKind, message: Option<usize>) {
        let start = self.decoder.text.len();
        self.decoder.begin(Notation::Verbatim);
        let text = &self.within.text()[span.start..span.end];
        self.decoder.copy(text, span.start);
        self.part(start, role, kind, message);
    }

    fn part(&mut self, start: usize, role: Role, kind: PartKind, message: Option<usize>) {
        self.parts.push(Part {
            span: Span::new(start, self.decoder.text.len()),
            role,
            kind,
            message,
        });
    }

    /// Puts a marker behind what was added last.
    pub(super) fn marker(&mut self, mark: &Value<'_>) {
        self.marker_in(mark, MarkerPlace::Block);
    }

    /// Puts the marker that is item `index` of its list behind what was added last.
    pub(super) fn item_marker(&mut self, mark: &Value<'_>, index: usize, role: Role) {
        let place = match (index, role) {
            (_, Role::Tool) => MarkerPlace::ToolResult,
            (0, _) => MarkerPlace::ListStart,
            _ => MarkerPlace::Block,
        };
        self.marker_in(mark, place);
    }

    fn marker_in(&mut self, mark: &Value<'_>, place: MarkerPlace) {
        self.markers.push(Marker {
            place,
            at: self.decoder.text.len(),
            in_file: self.within.in_file(mark.span),
            ttl: mark.get_str("ttl").map(str::to_owned),
            part: self.parts.len().checked_sub(1),
        });
    }

    /// Puts a marker at the end that the provider moves along by itself.
    pub(super) fn automatic_marker(&mut self, mark: &Value<'_>) {
        self.marker_in(mark, MarkerPlace::Request);
        if let Some(marker) = self.markers.last_mut() {
            marker.part = None;
        }
    }

    /// All texts so far.
    pub(super) fn decoded(&self) -> &str {
        &self.decoder.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn finish(self, dialect: Dialect, api: Option<ApiKind>) -> Draft {
        let (text, map) = self.decoder.finish();
        let source = self.within.within(text, map);
        Draft {
            parts: self.parts,
            markers: self.markers,
            api,
            ..Draft::new(source, dialect)
        }
    }
}

/// A prompt of one string.
pub(super) fn single(within: &Source, text: &Text<'_>, dialect: Dialect) -> Draft {
    let source = decoded(within, text);
    Draft::new(source, dialect).with_front_matter_of_strings()
}

/// What a string says, as a source of its own.
pub(super) fn decoded(within: &Source, text: &Text<'_>) -> Source {
    let (text, map) = text.decode(within.text()).finish();
    within.within(text, map)
}

/// A value that is said only by a role's name.
pub(super) fn role(value: &Value<'_>) -> Role {
    value.get_str("role").map_or(Role::Other, Role::from_name)
}

/// It is a list whose items are messages.
pub(super) fn are_messages(value: &Value<'_>) -> bool {
    let items = value.items();
    !items.is_empty()
        && items.iter().all(|item| {
            let has_role = item.get_str("role").is_some();
            let has_content = item.get("content").is_some()
                || item.get("tool_calls").is_some()
                || item.get("parts").is_some();
            has_role && has_content
        })
}

/// Adds the content of a message: a string, or a list of blocks.
pub(super) fn content(
    assembly: &mut Assembly<'_>,
    value: &Value<'_>,
    role: Role,
    message: Option<usize>,
) {
    match &value.data {
        Data::Text(text) => assembly.text(text, role, message),
        Data::List(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                match block.get("cachePoint") {
                    Some(mark) => assembly.item_marker(mark, index, role),
                    None => self::block(assembly, block, role, message),
                }
            }
        }
        Data::Map(_) => block(assembly, value, role, message),
        Data::Other => {}
    }
}

fn block(assembly: &mut Assembly<'_>, block: &Value<'_>, role: Role, message: Option<usize>) {
    if let Some(text) = block.text() {
        return assembly.text(text, role, message);
    }
    if let Some(text) = block.get("text").and_then(Value::text) {
        assembly.text(text, role, message);
    } else if let Some(result) = block.get("toolResult").or(result_of(block)) {
        let inner = result.get("content").unwrap_or(result);
        match &inner.data {
            Data::Other => {}
            _ => content(assembly, inner, Role::Tool, message),
        }
    } else if let Some(call) = block.get("input").or(block.get("toolUse")) {
        assembly.raw(call.span, role, PartKind::ToolUse, message);
    } else {
        let at = block.span.start;
        assembly.raw(Span::new(at, at), role, PartKind::Media, message);
    }
    if let Some(mark) = block.get("cache_control") {
        assembly.marker(mark);
    }
}

/// The content of an Anthropic tool result.
fn result_of<'v, 't>(block: &'v Value<'t>) -> Option<&'v Value<'t>> {
    (block.get_str("type") == Some("tool_result")).then(|| block.get("content"))?
}

/// Where the name in `{name}` stands in the file, if the text is nothing else.
fn in_braces(text: &Text<'_>, file: &str) -> Option<Span> {
    let name = text.value.trim().strip_prefix('{')?.strip_suffix('}')?;
    let written = &file[text.span.start..text.span.end];
    let start = text.span.start + written.find(name)?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| Span::new(start, start + name.len()))
}
