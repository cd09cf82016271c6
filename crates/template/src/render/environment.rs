//! The engine, set up as chat templates expect it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, FormatStyle, Output, State, UndefinedBehavior,
    Value, filters, format_filter,
    value::{Kwargs, Rest, ValueKind},
};

use super::{guard, json, methods, moment::Moment, python};

/// Macros that call macros, and blocks in blocks.
const MAX_RECURSION: usize = 100;
/// Bytes that all values together may print, into the page or into a `set` block.
const MAX_PRINTED_BYTES: usize = 64 * 1024 * 1024;

/// An engine without template and without a date.
pub(crate) fn environment() -> Environment<'static> {
    let mut engine = Environment::new();
    engine.set_trim_blocks(true);
    engine.set_lstrip_blocks(true);
    engine.set_keep_trailing_newline(false);
    engine.set_undefined_behavior(UndefinedBehavior::Lenient);
    // A prompt is no web page, whatever its file is called.
    engine.set_auto_escape_callback(|_| AutoEscape::None);
    engine.set_recursion_limit(MAX_RECURSION);
    engine.set_unknown_method_callback(methods::call);
    engine.add_function("raise_exception", raise);
    add_filters(&mut engine);
    add_tests(&mut engine);
    engine
}

/// Adds what belongs to one rendering.
pub(crate) fn for_one_rendering(engine: &mut Environment<'_>, now: Option<Moment>) {
    let printed = Arc::new(AtomicUsize::new(0));
    engine.set_formatter(move |out, state, value| print(&printed, out, state, value));
    let weighed = AtomicUsize::new(0);
    engine.add_function(super::prepare::CHECK, move |values: Rest<Value>| {
        guard::check(&values, &weighed)
    });
    engine.add_function("strftime_now", move |format: &str| strftime(now, format));
}

/// The message of `raise_exception` stands behind this mark, by which the error is known.
pub(crate) const RAISED: &str = "raised: ";

fn raise(message: &str) -> Result<Value, Error> {
    Err(invalid(format!("{RAISED}{message}")))
}

fn strftime(now: Option<Moment>, format: &str) -> Result<String, Error> {
    let Some(now) = now else {
        return Err(invalid(
            "`strftime_now` was called, and no date was handed in; set `RenderOptions::now`",
        ));
    };
    now.format(format).ok_or_else(|| {
        invalid("`strftime_now` knows no such format; expected conversions such as `%d %b %Y`")
    })
}

fn print(
    printed: &AtomicUsize,
    out: &mut Output<'_>,
    _: &State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    let text = python::str(value);
    let before = printed.fetch_add(text.len(), Ordering::Relaxed);
    if before.saturating_add(text.len()) > MAX_PRINTED_BYTES {
        return Err(invalid(format!(
            "{}values print more than 64 MiB",
            guard::TOO_LARGE
        )));
    }
    out.write_str(&text).map_err(Error::from)
}

fn add_filters(engine: &mut Environment<'_>) {
    engine.add_filter("tojson", json::tojson);
    engine.add_filter("string", python::str);
    engine.add_filter("trim", |string: &Value, characters: Option<&str>| {
        let string = python::str(string);
        let drops = |c: char| match characters {
            Some(set) => set.contains(c),
            None => methods::is_space(c),
        };
        string.trim_matches(drops).to_owned()
    });
    engine.add_filter("capitalize", |string: &Value| {
        methods::capitalize(&python::str(string))
    });
    engine.add_filter("title", |string: &Value| title(&python::str(string)));
    engine.add_filter("join", join);
    engine.add_filter("round", round);
    engine.add_filter(
        "replace",
        |string: &Value, old: &str, new: &str, count: Option<usize>| {
            methods::replace(&python::str(string), old, new, count)
        },
    );
    engine.add_filter("indent", indent);
    engine.add_filter("format", |format: &str, args: Rest<Value>| {
        guard::check_format(format)?;
        format_filter(FormatStyle::Printf, format, &args)
    });
    engine.add_filter(
        "batch",
        |state: &State<'_, '_>, list: Value, count: usize, fill: Option<Value>| {
            guard::check_width(count)?;
            filters::batch(state, list, count, fill)
        },
    );
    engine.add_filter(
        "slice",
        |state: &State<'_, '_>, list: Value, count: usize, fill: Option<Value>| {
            guard::check_width(count)?;
            filters::slice(state, list, count, fill)
        },
    );
}

/// Tests that Python answers otherwise than the engine.
fn add_tests(engine: &mut Environment<'_>) {
    use ValueKind::{Bool, Iterable, Map, Number, Seq, String, Undefined};
    let holds_items =
        |value: &Value| matches!(value.kind(), Seq | Iterable | Map | String | Undefined);
    engine.add_test("sequence", holds_items);
    engine.add_test("iterable", holds_items);
    engine.add_test("number", |value: &Value| {
        matches!(value.kind(), Number | Bool)
    });
}

/// Rounds halves to the even neighbour, as Python does; integers stay as they are.
fn round(
    value: Value,
    precision: Option<i32>,
    method: Option<&str>,
    named: Kwargs,
) -> Result<Value, Error> {
    let precision = precision.or(named.get("precision")?).unwrap_or(0);
    let method = method.or(named.get("method")?).unwrap_or("common");
    named.assert_all_used()?;
    if value.is_integer() && precision >= 0 && method == "common" {
        return Ok(value);
    }
    let number = f64::try_from(value)?;
    let scale = 10_f64.powi(precision.clamp(-300, 300));
    let digits = usize::try_from(precision.clamp(0, 300)).unwrap_or_default();
    Ok(Value::from(match method {
        "ceil" => (number * scale).ceil() / scale,
        "floor" => (number * scale).floor() / scale,
        _ if precision < 0 => (number * scale).round_ties_even() / scale,
        _ => format!("{number:.digits$}").parse().unwrap_or(number),
    }))
}

/// Words between spaces, hyphens and opening brackets, each with its first letter large.
fn title(string: &str) -> String {
    let mut starts = true;
    let mut text = String::with_capacity(string.len());
    for c in string.chars() {
        if starts {
            text.extend(c.to_uppercase());
        } else {
            text.extend(c.to_lowercase());
        }
        starts = methods::is_space(c) || "-({[<".contains(c);
    }
    text
}

fn join(
    items: &Value,
    separator: Option<&str>,
    attribute: Option<&str>,
    named: Kwargs,
) -> Result<String, Error> {
    let separator = match separator {
        Some(separator) => separator,
        None => named.get::<Option<&str>>("d")?.unwrap_or_default(),
    };
    let attribute = match attribute {
        Some(attribute) => Some(attribute),
        None => named.get::<Option<&str>>("attribute")?,
    };
    named.assert_all_used()?;
    let items = match items.kind() {
        ValueKind::Undefined => return Ok(String::new()),
        ValueKind::String => items
            .as_str()
            .unwrap_or_default()
            .chars()
            .map(|c| Value::from(c.to_string()))
            .collect(),
        _ => items.clone(),
    };
    let Some(attribute) = attribute else {
        return methods::join(&items, separator);
    };
    let chosen: Result<Value, Error> = items
        .try_iter()?
        .map(|item| item.get_attr(attribute))
        .collect::<Result<Vec<_>, _>>()
        .map(Value::from);
    methods::join(&chosen?, separator)
}

/// Indents all lines but the first, and no blank ones.
fn indent(
    string: &Value,
    width: Option<Value>,
    first: Option<bool>,
    blank: Option<bool>,
    named: Kwargs,
) -> Result<String, Error> {
    let width = match width {
        Some(width) => Some(width),
        None => named.get::<Option<Value>>("width")?,
    };
    let first = first
        .or(named.get::<Option<bool>>("first")?)
        .unwrap_or(false);
    let blank = blank
        .or(named.get::<Option<bool>>("blank")?)
        .unwrap_or(false);
    named.assert_all_used()?;
    let margin = match width {
        Some(width) if width.as_str().is_some() => width.to_string(),
        Some(width) => {
            let width = usize::try_from(width)?;
            guard::check_width(width)?;
            " ".repeat(width)
        }
        None => " ".repeat(4),
    };
    let string = python::str(string);
    guard::check_bytes(string.len() + string.matches('\n').count().saturating_mul(margin.len()))?;
    let mut text = String::with_capacity(string.len());
    // Python splits at its line ends and joins with a line feed.
    for (index, line) in string.split('\n').enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let is_indented = if index == 0 {
            first
        } else {
            blank || !line.is_empty()
        };
        if is_indented {
            text.push_str(&margin);
        }
        text.push_str(line);
    }
    Ok(text)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}
