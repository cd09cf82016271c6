//! Rendering as chat templates mean it: the text that `transformers` makes of the same values.

mod environment;
mod error;
mod guard;
mod json;
mod methods;
mod moment;
mod prepare;
mod python;
mod values;

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use minijinja::Environment;

pub use self::{
    error::{RenderError, RenderErrorKind},
    moment::Moment,
    values::{Values, ValuesError},
};
use crate::{
    Source, Volatility,
    dialect::Dialect,
    front_matter,
    marks::{MarkKind, keyword, scan},
    tree,
};
use prepare::{BORDER, Prepared, prepare};

/// What a rendering depends on besides the values.
#[derive(Clone, Copy, Debug, Default)]
pub struct RenderOptions {
    /// What `strftime_now` prints. Without it a template that asks for the date fails.
    pub now: Option<Moment>,
    /// How much a template may do.
    pub limits: Limits,
}

/// How much a template may do before it is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of the engine. The longest chats of the field take some hundred thousand.
    pub steps: u64,
    /// Bytes of the prompt.
    pub output_bytes: usize,
}

impl Default for Limits {
    /// Ten million steps and 64 MiB.
    fn default() -> Self {
        Self {
            steps: 10_000_000,
            output_bytes: 64 * 1024 * 1024,
        }
    }
}

/// A template that can be rendered: a model's chat template, or a prompt of one's own.
///
/// The dialect is that of Hugging Face chat templates: Jinja with `trim_blocks` and
/// `lstrip_blocks`, Python's methods of strings and dictionaries, `tojson` as `json.dumps` prints,
/// `raise_exception`, `strftime_now`, `break` and `continue`, `{% generation %}`.
///
/// ```
/// use headwater_template::{ChatTemplate, Moment, RenderOptions, Source, Values};
///
/// let source = Source::from_bytes(b"{{ strftime_now('%d %b %Y') }}: {{ tool | tojson }}").unwrap();
/// let template = ChatTemplate::compile(source)?;
/// let values = Values::from_json(r#"{"tool": {"name": "tide", "strict": true}}"#).unwrap();
/// let options = RenderOptions { now: Moment::date(2024, 7, 4), ..RenderOptions::default() };
/// assert_eq!(template.render(&values, &options)?, r#"04 Jul 2024: {"name": "tide", "strict": true}"#);
/// # Ok::<(), headwater_template::RenderError>(())
/// ```
///
/// It reads no clock and no file: `include` and `extends` fail. A template that does not end, or
/// that fills the memory, is stopped by [`Limits`]. A step takes time in proportion to the values
/// that it works on.
///
/// Known differences from Python: `~` prints lists and very large or small floats as the engine
/// does; `%` does not format strings.
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    source: Source,
    prepared: Prepared,
    engine: Environment<'static>,
    /// The longest text that a loop or macro can print again and again.
    repeated_bytes: usize,
}

/// The name of the one template in its engine.
const NAME: &str = "template";
/// What a loop may print into a `set` block, where the length of the prompt does not count it.
const MAX_REPEATED_BYTES: u64 = 2 * 1024 * 1024 * 1024;

impl ChatTemplate {
    /// Compiles a source, without its front matter.
    ///
    /// # Errors
    /// The source is not valid, or nests too deep; the error names the place.
    pub fn compile(source: Source) -> Result<Self, RenderError> {
        Self::with_borders(source, &BTreeMap::new())
    }

    /// Compiles a source with borders before the tags that begin at these bytes.
    pub(crate) fn with_borders(
        source: Source,
        borders: &BTreeMap<usize, Volatility>,
    ) -> Result<Self, RenderError> {
        let text = source.text();
        let start = start(text);
        let mut problems = Vec::new();
        let marks = scan(text, start, &mut problems);
        // The engine's parser recurses; what nests too deep must not reach it.
        tree::build(text, &marks, &mut problems);
        if let Some(problem) = problems.iter().min_by_key(|problem| problem.span) {
            return Err(RenderError::of_problem(&source, problem));
        }
        let prepared = prepare(text, start, borders);
        let mut engine = environment::environment();
        engine
            .add_template_owned(NAME, prepared.text.clone())
            .map_err(|error| RenderError::of_engine(&error, &prepared, &source))?;
        let repeats = marks.iter().any(|mark| {
            let tag = &text[mark.span.start..mark.span.end];
            mark.kind == MarkKind::Statement && ["for", "macro"].contains(&keyword(tag))
        });
        let texts = marks.iter().filter(|mark| mark.kind == MarkKind::Text);
        let longest = texts.map(|mark| mark.span.end - mark.span.start).max();
        Ok(Self {
            repeated_bytes: longest.filter(|_| repeats).unwrap_or(1),
            source,
            prepared,
            engine,
        })
    }

    /// The text that the template makes of the values.
    ///
    /// # Errors
    /// The template refuses the values, an operation fails, or a limit is reached.
    pub fn render(&self, values: &Values, options: &RenderOptions) -> Result<String, RenderError> {
        self.render_with_borders(values, options)
            .map(|rendered| rendered.text)
    }

    pub(crate) fn render_with_borders(
        &self,
        values: &Values,
        options: &RenderOptions,
    ) -> Result<Rendered, RenderError> {
        let page = Arc::new(Page::default());
        let mut engine = self.engine.clone();
        engine.set_fuel(Some(self.steps(options.limits)));
        environment::for_one_rendering(&mut engine, options.now);
        let noted = Arc::clone(&page);
        engine.add_function(BORDER, move |volatility: u8| noted.border(volatility));
        let explain = |error| RenderError::of_engine(&error, &self.prepared, &self.source);
        let template = engine.get_template(NAME).map_err(explain)?;
        let mut writer = Writer {
            text: Vec::new(),
            page: &page,
            most: options.limits.output_bytes,
        };
        let outcome = template.render_captured_to(values.root(), &mut writer);
        if writer.most == 0 {
            return Err(RenderError::too_long(options.limits.output_bytes));
        }
        outcome.map_err(explain)?;
        let text = String::from_utf8(std::mem::take(&mut writer.text)).unwrap_or_default();
        Ok(Rendered {
            semi_static_from: page.semi_static_from(text.len()),
            dynamic_from: page.dynamic_from(text.len()),
            text,
        })
    }

    fn steps(&self, limits: Limits) -> u64 {
        let repeated = u64::try_from(self.repeated_bytes).unwrap_or(u64::MAX);
        limits.steps.min(MAX_REPEATED_BYTES / repeated.max(1))
    }
}

/// Where the prompt begins: behind front matter between lines, but with a comment, which takes the
/// line end behind it along.
fn start(text: &str) -> usize {
    let front = front_matter::read(text, Dialect::Jinja, &mut Vec::new());
    if text[..front.end].ends_with("#}") {
        return text.len() - text.trim_start_matches('\u{FEFF}').len();
    }
    front.end
}

/// A text, and from where on it depends on what.
pub(crate) struct Rendered {
    pub(crate) text: String,
    /// Bytes before this are the same for all requests.
    pub(crate) semi_static_from: usize,
    /// Bytes before this are the same for the session; at or behind `semi_static_from`.
    pub(crate) dynamic_from: usize,
}

/// How far the page is written, and where its borders lie.
#[derive(Default)]
struct Page {
    written: AtomicUsize,
    borders: Mutex<[Option<usize>; 2]>,
}

impl Page {
    /// Notes that what is written from here on may depend on a value this volatile.
    fn border(&self, volatility: u8) {
        let at = self.written.load(Ordering::Relaxed);
        let index = usize::from(volatility == Volatility::Dynamic as u8);
        if let Ok(mut borders) = self.borders.lock() {
            borders[index].get_or_insert(at);
        }
    }

    fn dynamic_from(&self, end: usize) -> usize {
        let borders = self.borders.lock().map(|borders| *borders);
        borders.ok().and_then(|borders| borders[1]).unwrap_or(end)
    }

    fn semi_static_from(&self, end: usize) -> usize {
        let borders = self.borders.lock().map(|borders| *borders);
        let semi_static = borders.ok().and_then(|borders| borders[0]).unwrap_or(end);
        semi_static.min(self.dynamic_from(end))
    }
}

/// Counts what is written, and stops when it is too much; then `most` is 0.
struct Writer<'p> {
    text: Vec<u8>,
    page: &'p Page,
    most: usize,
}

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() + bytes.len() > self.most {
            self.most = 0;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.text.extend_from_slice(bytes);
        self.page.written.store(self.text.len(), Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
