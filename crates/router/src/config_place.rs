//! Where in a file a setting stands, for what is found wrong only when all of it has been read.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Line and column of the setting at a path such as `pools[0].match`, or of the innermost one
/// around it that is there; nothing if the text is no YAML.
pub(crate) fn position(yaml: &str, path: &str) -> Option<(usize, usize)> {
    let steps: Vec<&str> = path
        .split(['.', '[', ']'])
        .filter(|step| !step.is_empty())
        .collect();
    (0..=steps.len()).rev().find_map(|length| {
        let way = Way(steps.get(..length)?);
        let stopped = way
            .deserialize(serde_yaml::Deserializer::from_str(yaml))
            .err()?;
        // Reading stops with an error where the way ends.
        let at = stopped.location()?;
        Some((at.line(), at.column()))
    })
}

/// Goes to a setting, step by step, and ends with an error there.
struct Way<'s>(&'s [&'s str]);

impl<'de> DeserializeSeed<'de> for Way<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self.0.split_first() {
            Some((step, rest)) => from.deserialize_any(Within { step, rest }),
            None => from.deserialize_any(End),
        }
    }
}

/// A value that is gone into.
struct Within<'s> {
    step: &'s str,
    rest: &'s [&'s str],
}

impl<'de> Visitor<'de> for Within<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == self.step {
                map.next_value_seed(Way(self.rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0_usize;
        loop {
            if self.step.parse() == Ok(index) {
                if list.next_element_seed(Way(self.rest))?.is_none() {
                    return Ok(());
                }
            } else if list.next_element_seed(Skip)?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }
}

struct Skip;

impl<'de> DeserializeSeed<'de> for Skip {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        IgnoredAny::deserialize(from).map(|_| ())
    }
}

/// The value that is looked for: whatever it is, reading stops here.
struct End;

impl Visitor<'_> for End {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_found_where_it_stands() {
        let yaml = "listen: a\nworkers: [x, y]\npools:\n- name: p\n  match:\n    path: /a\n- {name: q, placement: {low: 0.9}}\n";
        let check = |path, expected| assert_eq!(position(yaml, path), Some(expected), "{path}");
        check("listen", (1, 9));
        check("workers[1]", (2, 14));
        check("pools[0].match", (6, 5));
        check("pools[0].match.path", (6, 11));
        check("pools[1].placement.low", (7, 30));
        // What is not there is looked for where it would be.
        check("pools[0].workers", (4, 3));
        check("pools[7]", (4, 1));
    }
}
