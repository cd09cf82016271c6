//! Methods of Python's strings, lists and dictionaries, as templates call them.

use minijinja::{
    Error, ErrorKind, FormatStyle, State, Value, format_filter,
    value::{Kwargs, ValueKind, from_args},
};

use super::{guard, python};

/// Calls a method that the engine does not know.
pub(crate) fn call(
    _: &State<'_, '_>,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    match (value.as_str(), value.kind()) {
        (Some(string), _) => of_string(string, method, args),
        (None, ValueKind::Map) => of_map(value, method, args),
        (None, ValueKind::Seq | ValueKind::Iterable) => of_list(value, method, args),
        _ => Err(ErrorKind::UnknownMethod.into()),
    }
}

fn of_string(string: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    if let Some(value) = without_arguments(string, method) {
        let () = from_args(args)?;
        return Ok(value);
    }
    match method {
        "strip" | "lstrip" | "rstrip" => {
            let (characters,): (Option<&str>,) = from_args(args)?;
            let drops = |c: char| match characters {
                Some(set) => set.contains(c),
                None => is_space(c),
            };
            Ok(Value::from(match method {
                "lstrip" => string.trim_start_matches(drops),
                "rstrip" => string.trim_end_matches(drops),
                _ => string.trim_matches(drops),
            }))
        }
        "split" | "rsplit" => split(string, method, args),
        "splitlines" => {
            let (keep,): (Option<bool>,) = from_args(args)?;
            Ok(lines(string, keep.unwrap_or(false)))
        }
        "startswith" | "endswith" => {
            let (what,): (&Value,) = from_args(args)?;
            let holds = |part: &Value| match (part.as_str(), method) {
                (Some(part), "startswith") => Ok(string.starts_with(part)),
                (Some(part), _) => Ok(string.ends_with(part)),
                (None, _) => Err(invalid(format!("{method}: expected a string"))),
            };
            if what.as_str().is_some() {
                return holds(what).map(Value::from);
            }
            for part in what.try_iter()? {
                if holds(&part)? {
                    return Ok(Value::from(true));
                }
            }
            Ok(Value::from(false))
        }
        "removeprefix" | "removesuffix" => {
            let (part,): (&str,) = from_args(args)?;
            let rest = match method {
                "removeprefix" => string.strip_prefix(part),
                _ => string.strip_suffix(part),
            };
            Ok(Value::from(rest.unwrap_or(string)))
        }
        "replace" => {
            let (old, new, count): (&str, &str, Option<i64>) = from_args(args)?;
            replace(
                string,
                old,
                new,
                count.and_then(|count| usize::try_from(count).ok()),
            )
            .map(Value::from)
        }
        "find" | "rfind" | "index" | "rindex" => find(string, method, args),
        "count" => {
            let (what,): (&str,) = from_args(args)?;
            Ok(Value::from(string.matches(what).count()))
        }
        "join" => {
            let (items,): (&Value,) = from_args(args)?;
            join(items, string).map(Value::from)
        }
        "zfill" | "ljust" | "rjust" | "center" => pad(string, method, args),
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            let parts = match method {
                "partition" => string.split_once(separator),
                _ => string.rsplit_once(separator),
            };
            Ok(match (parts, method) {
                (Some((before, after)), _) => strings([before, separator, after]),
                (None, "partition") => strings([string, "", ""]),
                (None, _) => strings(["", "", string]),
            })
        }
        "format" => {
            guard::check_format(string)?;
            format_filter(FormatStyle::StrFormat, string, args).map(Value::from)
        }
        _ => Err(ErrorKind::UnknownMethod.into()),
    }
}

fn without_arguments(string: &str, method: &str) -> Option<Value> {
    let all = |holds: fn(char) -> bool| !string.is_empty() && string.chars().all(holds);
    let cased = |wrong: fn(char) -> bool| {
        string.chars().any(|c| c.is_uppercase() || c.is_lowercase()) && !string.chars().any(wrong)
    };
    Some(match method {
        "upper" => Value::from(string.to_uppercase()),
        "lower" | "casefold" => Value::from(string.to_lowercase()),
        "title" => Value::from(title(string)),
        "capitalize" => Value::from(capitalize(string)),
        "swapcase" => Value::from(string.chars().flat_map(swapped).collect::<String>()),
        "isspace" => Value::from(all(is_space)),
        "isdigit" | "isnumeric" | "isdecimal" => Value::from(all(char::is_numeric)),
        "isalpha" => Value::from(all(char::is_alphabetic)),
        "isalnum" => Value::from(all(char::is_alphanumeric)),
        "isascii" => Value::from(string.is_ascii()),
        "isupper" => Value::from(cased(char::is_lowercase)),
        "islower" => Value::from(cased(char::is_uppercase)),
        _ => return None,
    })
}

/// What Python calls white space: Unicode's, and four separators of ASCII.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Each run of letters with its first letter large.
fn title(string: &str) -> String {
    let mut inside_word = false;
    let mut text = String::with_capacity(string.len());
    for c in string.chars() {
        if inside_word {
            text.extend(c.to_lowercase());
        } else {
            text.extend(c.to_uppercase());
        }
        inside_word = c.is_uppercase() || c.is_lowercase();
    }
    text
}

pub(crate) fn capitalize(string: &str) -> String {
    let mut characters = string.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    let rest = characters.as_str().to_lowercase();
    first.chain(rest.chars()).collect()
}

fn swapped(c: char) -> impl Iterator<Item = char> {
    let upper = c.is_lowercase().then(|| c.to_uppercase());
    let lower = (!c.is_lowercase()).then(|| c.to_lowercase());
    upper
        .into_iter()
        .flatten()
        .chain(lower.into_iter().flatten())
}

fn split(string: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (separator, most, named): (Option<Value>, Option<i64>, Kwargs) = from_args(args)?;
    let separator = match separator {
        Some(separator) => Some(separator),
        None => named.get::<Option<Value>>("sep")?,
    };
    let most = match most {
        Some(most) => Some(most),
        None => named.get::<Option<i64>>("maxsplit")?,
    };
    named.assert_all_used()?;
    let parts =
        usize::try_from(most.unwrap_or(-1)).map_or(usize::MAX, |most| most.saturating_add(1));
    let from_end = method == "rsplit";
    let separator = separator.filter(|separator| !separator.is_none());
    let Some(separator) = separator else {
        return Ok(strings(words(string, parts, from_end)));
    };
    let separator = separator.as_str().unwrap_or_default();
    if separator.is_empty() {
        return Err(invalid(format!(
            "{method}: expected a separator that is not empty"
        )));
    }
    let mut found: Vec<&str> = if from_end {
        string.rsplitn(parts, separator).collect()
    } else {
        string.splitn(parts, separator).collect()
    };
    if from_end {
        found.reverse();
    }
    Ok(strings(found))
}

/// Splits at runs of white space into at most `parts`.
fn words(string: &str, parts: usize, from_end: bool) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = string.trim_matches(is_space);
    while !rest.is_empty() {
        let cut = if from_end {
            rest.rfind(is_space).filter(|_| found.len() + 1 < parts)
        } else {
            rest.find(is_space).filter(|_| found.len() + 1 < parts)
        };
        let Some(cut) = cut else {
            found.push(rest);
            break;
        };
        let (before, after) = rest.split_at(cut);
        let (word, behind) = if from_end {
            (after.trim_start_matches(is_space), before)
        } else {
            (before, after)
        };
        found.push(word);
        rest = if from_end {
            behind.trim_end_matches(is_space)
        } else {
            behind.trim_start_matches(is_space)
        };
    }
    if from_end {
        found.reverse();
    }
    // Python keeps white space at the far end of what it no longer splits.
    if found.len() == parts {
        if from_end {
            if let Some(first) = found.first_mut() {
                *first =
                    &string[..first.as_ptr() as usize - string.as_ptr() as usize + first.len()];
            }
        } else if let Some(last) = found.last_mut() {
            *last = &string[last.as_ptr() as usize - string.as_ptr() as usize..];
        }
    }
    found
}

fn lines(string: &str, keep: bool) -> Value {
    let ends = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut found = Vec::new();
    let mut rest = string;
    while !rest.is_empty() {
        let Some(at) = rest.find(ends) else {
            found.push(rest);
            break;
        };
        let end = if rest[at..].starts_with("\r\n") {
            at + 2
        } else {
            at + rest[at..].chars().next().map_or(1, char::len_utf8)
        };
        found.push(&rest[..if keep { end } else { at }]);
        rest = &rest[end..];
    }
    strings(found)
}

/// Replaces at most `count` times, all if there is no count.
pub(crate) fn replace(
    string: &str,
    old: &str,
    new: &str,
    count: Option<usize>,
) -> Result<String, Error> {
    let times = string.matches(old).count().min(count.unwrap_or(usize::MAX));
    guard::check_bytes(times.saturating_mul(new.len()).saturating_add(string.len()))?;
    Ok(match count {
        Some(count) => string.replacen(old, new, count),
        None => string.replace(old, new),
    })
}

/// Places are counted in characters.
fn find(string: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (what,): (&str,) = from_args(args)?;
    let at = match method {
        "find" | "index" => string.find(what),
        _ => string.rfind(what),
    };
    match at {
        Some(at) => Ok(Value::from(string[..at].chars().count())),
        None if method.ends_with("index") => Err(invalid("substring not found".to_owned())),
        None => Ok(Value::from(-1)),
    }
}

/// Joins values as Python prints them.
pub(crate) fn join(items: &Value, separator: &str) -> Result<String, Error> {
    let mut text = String::new();
    for (index, item) in items.try_iter()?.enumerate() {
        if index > 0 {
            text.push_str(separator);
        }
        text.push_str(&python::str(&item));
        guard::check_bytes(text.len())?;
    }
    Ok(text)
}

fn pad(string: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (width, fill): (usize, Option<&str>) = from_args(args)?;
    guard::check_width(width)?;
    let missing = width.saturating_sub(string.chars().count());
    let fill = if method == "zfill" {
        "0"
    } else {
        fill.unwrap_or(" ")
    };
    let fill = fill.chars().next().unwrap_or(' ').to_string();
    Ok(Value::from(match method {
        "ljust" => format!("{string}{}", fill.repeat(missing)),
        "center" => {
            // Of an odd number the larger half stands on the left if the width is odd.
            let left = missing / 2 + (missing & width & 1);
            format!(
                "{}{string}{}",
                fill.repeat(left),
                fill.repeat(missing - left)
            )
        }
        "zfill" if string.starts_with(['-', '+']) => {
            format!("{}{}{}", &string[..1], fill.repeat(missing), &string[1..])
        }
        _ => format!("{}{string}", fill.repeat(missing)),
    }))
}

/// `get`, `items`, `keys`, `values`.
pub(crate) fn of_map(map: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    match method {
        "get" => {
            let (key, default): (&Value, Option<Value>) = from_args(args)?;
            let found = map.get_item(key)?;
            let holds = !found.is_undefined();
            let missing = || default.unwrap_or_else(|| Value::from(()));
            Ok(if holds { found } else { missing() })
        }
        "items" | "keys" | "values" => {
            let () = from_args(args)?;
            let mut found = Vec::new();
            for key in map.try_iter()? {
                found.push(match method {
                    "keys" => key,
                    "values" => map.get_item(&key)?,
                    _ => {
                        let value = map.get_item(&key)?;
                        Value::from(vec![key, value])
                    }
                });
            }
            Ok(Value::from(found))
        }
        "copy" => {
            let () = from_args(args)?;
            Ok(map.clone())
        }
        _ => Err(ErrorKind::UnknownMethod.into()),
    }
}

fn of_list(list: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (what,): (&Value,) = match method {
        "count" | "index" => from_args(args)?,
        _ => return Err(ErrorKind::UnknownMethod.into()),
    };
    let mut items = list.try_iter()?;
    if method == "count" {
        return Ok(Value::from(items.filter(|item| item == what).count()));
    }
    items
        .position(|item| item == *what)
        .map(Value::from)
        .ok_or_else(|| invalid("the value is not in the list".to_owned()))
}

fn strings<'s>(parts: impl IntoIterator<Item = &'s str>) -> Value {
    parts.into_iter().map(Value::from).collect()
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
