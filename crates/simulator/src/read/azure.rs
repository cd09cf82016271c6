//! Azure's inference traces: when, how long a prompt, how long an answer. No prefix is known.

use std::io::BufRead;

use super::growth::{Row, Rows};
use super::{Lines, TraceError, tokens};
use crate::sessions;
use crate::trace::{Arrival, Call, Trace};

/// Blocks have no names here; the size only says what a unit of the cache is.
const BLOCK_TOKENS: u32 = 16;

pub(super) fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Trace, TraceError> {
    let mut rows = Rows::default();
    let mut start = None;
    let (number, head) = lines.current();
    let columns = Columns::of(head).ok_or_else(|| {
        TraceError::at(
            number,
            "expected the columns `TIMESTAMP`, `ContextTokens` and `GeneratedTokens`, each once",
        )
    })?;
    while let Some((number, text)) = lines.next_line()? {
        let Some([time, context, generated]) = columns.fields(text) else {
            return Err(TraceError::at(
                number,
                "expected three fields: time, context tokens, generated tokens",
            ));
        };
        let at_ms = moment(time).ok_or_else(|| {
            TraceError::at(
                number,
                "expected a time such as `2023-11-16 18:17:03.9799600`",
            )
        })?;
        let count = |what: &str, text: &str| {
            let found = text.trim().parse();
            let found =
                found.map_err(|_| TraceError::at(number, format!("`{what}` is not a number")))?;
            tokens(number, what, found)
        };
        let (input_tokens, output_tokens) = (
            count("ContextTokens", context)?.max(1),
            count("GeneratedTokens", generated)?,
        );
        let call = Call {
            arrival: Arrival::AtMs(0.0),
            input_tokens,
            output_tokens,
            session: 0,
            turn: 0,
        };
        let at_ms = at_ms - *start.get_or_insert(at_ms);
        let session = Some(rows.rows.len() as u64);
        rows.push(
            number,
            Row {
                call,
                at_ms,
                path: Vec::new(),
                borders: None,
                session,
            },
        )?;
    }
    Ok(sessions::assemble(rows.rows, BLOCK_TOKENS))
}

/// Where the three columns are.
struct Columns([usize; 3]);

impl Columns {
    fn of(head: &str) -> Option<Self> {
        let names: Vec<&str> = head.split(',').map(str::trim).collect();
        let place = |wanted: &str| names.iter().position(|name| *name == wanted);
        let places = [
            place("TIMESTAMP")?,
            place("ContextTokens")?,
            place("GeneratedTokens")?,
        ];
        (names.len() == places.len()).then_some(Self(places))
    }

    fn fields<'t>(&self, line: &'t str) -> Option<[&'t str; 3]> {
        let fields: Vec<&str> = line.split(',').collect();
        let fields: &[&str; 3] = fields.as_slice().try_into().ok()?;
        let Self([time, context, generated]) = *self;
        Some([
            *fields.get(time)?,
            *fields.get(context)?,
            *fields.get(generated)?,
        ])
    }
}

/// Milliseconds since some day of `YYYY-MM-DD HH:MM:SS.fraction`, which may say that it is UTC.
fn moment(text: &str) -> Option<f64> {
    let text = text.trim();
    let text = ["+00:00", "Z"]
        .iter()
        .find_map(|utc| text.strip_suffix(utc))
        .unwrap_or(text);
    let (date, time) = text.split_once([' ', 'T'])?;
    let date: Vec<i64> = date
        .split('-')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let [year, month, day] = *date.as_slice() else {
        return None;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1970..=9999).contains(&year) || !(1..=last).contains(&day) {
        return None;
    }
    let time: Vec<&str> = time.split(':').collect();
    let [hour, minute, second] = *time.as_slice() else {
        return None;
    };
    let hour: u32 = hour.parse().ok().filter(|hour| *hour < 24)?;
    let minute: u32 = minute.parse().ok().filter(|minute| *minute < 60)?;
    let second: f64 = second
        .parse()
        .ok()
        .filter(|second| (0.0..61.0).contains(second))?;
    let seconds = days(year, month, day) as f64 * 86_400.0
        + f64::from(hour) * 3_600.0
        + f64::from(minute) * 60.0
        + second;
    Some(seconds * 1_000.0)
}

/// Days since the first of March of the year 0, with years that begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_far_apart_as_they_should_be() {
        let check = |from: &str, to: &str, expected: f64| {
            assert_eq!(
                moment(to).unwrap() - moment(from).unwrap(),
                expected,
                "{from} {to}"
            );
        };
        check("2023-11-16 18:17:03.5", "2023-11-16 18:17:04.75", 1_250.0);
        check("2023-12-31 23:59:59", "2024-01-01 00:00:00", 1_000.0);
        check(
            "2024-02-28 00:00:00",
            "2024-03-01 00:00:00",
            2.0 * 86_400_000.0,
        );
        check(
            "2024-05-10 00:00:00.009930+00:00",
            "2024-05-10T00:00:01.009930Z",
            1_000.0,
        );
        for wrong in [
            "",
            "2023-02-29 00:00:00",
            "2024-04-31 00:00:00",
            "2023-11-16 00:00:01:77",
            "2023-11-16 00:00:01+02:00",
            "2023-11-16",
            "2023-13-01 00:00:00",
            "2023-11-16 24:00:00",
            "x-1-1 0:0:0",
        ] {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn columns_go_by_their_names() {
        let fields = |head: &str| {
            let columns = Columns::of(head)?;
            columns.fields("a,b,c").map(|fields| fields.concat())
        };
        assert_eq!(
            fields("TIMESTAMP,ContextTokens,GeneratedTokens").as_deref(),
            Some("abc")
        );
        assert_eq!(
            fields("TIMESTAMP,GeneratedTokens,ContextTokens").as_deref(),
            Some("acb")
        );
        assert_eq!(fields("TIMESTAMP,ContextTokens"), None);
        assert_eq!(fields("TIMESTAMP,ContextTokens,GeneratedTokens,More"), None);
        assert_eq!(fields("TIMESTAMP,ContextTokens,ContextTokens"), None);
    }
}
