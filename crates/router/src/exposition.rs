//! Reads Prometheus text as engines write it, and never fails: a line that makes no sense is
//! left out, the others count.
//!
//! ```
//! use headwater_router::exposition::samples;
//!
//! let text = "# TYPE up gauge\nup{engine=\"0\"} 1.0\n!!\n";
//! let found: Vec<_> = samples(text).map(|s| (s.name, s.value)).collect();
//! assert_eq!(found, [("up", 1.0)]);
//! ```

use std::borrow::Cow;

/// One line: a name, labels, a value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sample<'a> {
    /// The metric's name as written.
    pub name: &'a str,
    /// Its value; may be infinite or not a number.
    pub value: f64,
    labels: &'a str,
}

/// Every sample of a text, in its order.
pub fn samples(text: &str) -> impl Iterator<Item = Sample<'_>> {
    text.lines().filter_map(sample)
}

/// The samples whose names are wanted; of the other lines, most of a page, only the names are
/// read.
pub fn samples_called(
    text: &str,
    wanted: impl Fn(&str) -> bool,
) -> impl Iterator<Item = Sample<'_>> {
    let is_wanted = move |line: &&str| name_of(line.trim_start()).is_some_and(&wanted);
    text.lines().filter(is_wanted).filter_map(sample)
}

impl<'a> Sample<'a> {
    /// The value of a label, if the sample has it.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<Cow<'a, str>> {
        let found = self.labels().find(|(name, _)| *name == key);
        found.map(|(_, value)| unescape(value))
    }

    /// Its labels with their values, as they are written.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let mut rest = self.labels;
        std::iter::from_fn(move || {
            let (name, after) = rest.split_once('=')?;
            let value = after.trim_start().strip_prefix('"')?;
            let end = closing_quote(value)?;
            rest = value.get(end + 1..)?;
            let name = name.trim_start_matches([',', ' ', '\t']).trim_end();
            Some((name, value.get(..end)?))
        })
    }
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let line = line.trim();
    let name = name_of(line)?;
    let rest = line.get(name.len()..)?;
    let (labels, rest) = match rest.trim_start().strip_prefix('{') {
        Some(inside) => {
            let end = closing_brace(inside)?;
            (inside.get(..end)?, inside.get(end + 1..)?)
        }
        None => ("", rest),
    };
    // A time stamp or an exemplar may follow.
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Sample {
        name,
        value,
        labels,
    })
}

/// Which bytes a name may have: looked up for each of a page's names.
const IS_NAME: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0_u8);
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':');
        byte += 1;
    }
    table
};

fn name_of(line: &str) -> Option<&str> {
    let end = line.bytes().position(|b| !IS_NAME[usize::from(b)]);
    let name = line.get(..end.unwrap_or(line.len()))?;
    let begins = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    begins.then_some(name)
}

/// The first `}` outside of quotes.
fn closing_brace(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let found = rest.find(['"', '}'])?;
        if rest.as_bytes().get(found) == Some(&b'}') {
            return Some(at + found);
        }
        let inside = at + found + 1;
        at = inside + closing_quote(text.get(inside..)?)? + 1;
    }
}

/// The first `"` that is not escaped.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(line: &str, expected: Option<(&str, f64)>) {
        let found = sample(line).map(|s| (s.name, s.value));
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn a_line_is_a_name_and_a_value() {
        check("up 1", Some(("up", 1.0)));
        check(
            "  vllm:num_requests_running{engine=\"0\",model_name=\"a b\"} 3.0  ",
            Some(("vllm:num_requests_running", 3.0)),
        );
        check("up{} 1.5e+3 1395066363000", Some(("up", 1500.0)));
        check("up {a=\"}\\\"{\"} 2 # {trace=\"x\"} 1", Some(("up", 2.0)));
        check("up +Inf", Some(("up", f64::INFINITY)));
        check("a{b=\"ü\"} 4", Some(("a", 4.0)));
        for bad in [
            "",
            "# HELP up x",
            "up",
            "up x",
            "1up 1",
            "{a=\"b\"} 1",
            "up{a=\"b\" 1",
            "up{a=\"b} 1",
            "ü 1",
            "up-x 1",
        ] {
            check(bad, None);
        }
        assert!(sample("up NaN").unwrap().value.is_nan());
    }

    #[test]
    fn a_label_is_found_by_its_whole_name() {
        let sample = sample(r#"i{block_size="16", size ="x,y=\"z\"\n",e=""} 1"#).unwrap();
        assert_eq!(sample.label("block_size").as_deref(), Some("16"));
        assert_eq!(sample.label("size").as_deref(), Some("x,y=\"z\"\n"));
        assert_eq!(sample.label("e").as_deref(), Some(""));
        assert_eq!(sample.label("lock_size"), None);
    }

    proptest! {
        #[test]
        fn what_is_wanted_is_read_as_before(text in "([a-z_:]{0,3}(\\{a=\"[a-z}\"]{0,2}\\})? [0-9.]{0,3}\n){0,6}") {
            let wanted = |name: &str| name.contains('a');
            let all = samples(&text).filter(|sample| wanted(sample.name));
            let some = samples_called(&text, wanted);
            prop_assert!(all.eq(some));
        }

        #[test]
        fn no_text_stops_the_reader(text in "\\PC*|([a-z_:]{1,3}[{]?[a-z=\"\\\\,}]{0,9} [0-9.eN+-]{0,4}\n?){0,5}") {
            for sample in samples(&text) {
                let _ = sample.label("a");
                prop_assert!(!sample.name.is_empty());
            }
        }
    }
}
