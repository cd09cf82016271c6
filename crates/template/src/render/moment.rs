//! A date and time that the caller hands in, and how a format prints it. Never the machine's clock.

use std::fmt::Write;

/// A civil date and time, in whatever zone the caller speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    year: u16,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

impl Moment {
    /// Midnight of a day; nothing if there is no such day, or the year is not in 1–9999.
    pub fn date(year: u16, month: u8, day: u8) -> Option<Self> {
        let exists = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day);
        exists.then_some(Self {
            year,
            month,
            day,
            hour: 0,
            minute: 0,
            second: 0,
        })
    }

    /// The same day at another time; nothing if there is no such time.
    pub fn at(self, hour: u8, minute: u8, second: u8) -> Option<Self> {
        let exists = hour < 24 && minute < 60 && second < 60;
        exists.then_some(Self {
            hour,
            minute,
            second,
            ..self
        })
    }

    /// Prints as Python's `strftime` does in the C locale; nothing if the format has a
    /// conversion that is not known here.
    pub(crate) fn format(self, format: &str) -> Option<String> {
        let mut text = String::new();
        let mut characters = format.chars();
        while let Some(c) = characters.next() {
            if c != '%' {
                text.push(c);
                continue;
            }
            let (conversion, padding) = match characters.next()? {
                '-' => (characters.next()?, Padding::Off),
                other => (other, Padding::On),
            };
            self.convert(conversion, padding, &mut text)?;
        }
        Some(text)
    }

    fn convert(self, conversion: char, padding: Padding, text: &mut String) -> Option<()> {
        let hour_of_12 = (self.hour + 11) % 12 + 1;
        let month = MONTHS[usize::from(self.month) - 1];
        let weekday = WEEKDAYS[usize::from(self.weekday())];
        let composed = match conversion {
            'Y' => return padding.write(text, self.year, 1),
            'y' => return padding.write(text, self.year % 100, 2),
            'm' => return padding.write(text, self.month.into(), 2),
            'd' => return padding.write(text, self.day.into(), 2),
            'H' => return padding.write(text, self.hour.into(), 2),
            'I' => return padding.write(text, hour_of_12.into(), 2),
            'M' => return padding.write(text, self.minute.into(), 2),
            'S' => return padding.write(text, self.second.into(), 2),
            'j' => return padding.write(text, self.day_of_year(), 3),
            'w' => return padding.write(text, self.weekday().into(), 1),
            'u' => return padding.write(text, u16::from((self.weekday() + 6) % 7 + 1), 1),
            'f' => "000000",
            // A caller's moment has no zone.
            'z' | 'Z' => "",
            'B' => month,
            'b' | 'h' => &month[..3],
            'A' => weekday,
            'a' => &weekday[..3],
            'p' => ["AM", "PM"][usize::from(self.hour / 12)],
            '%' => "%",
            'n' => "\n",
            't' => "\t",
            'e' => {
                return match padding {
                    Padding::On => write!(text, "{:2}", self.day).ok(),
                    Padding::Off => write!(text, "{}", self.day).ok(),
                };
            }
            'F' => return self.write(text, "%Y-%m-%d"),
            'D' | 'x' => return self.write(text, "%m/%d/%y"),
            'T' | 'X' => return self.write(text, "%H:%M:%S"),
            'R' => return self.write(text, "%H:%M"),
            'c' => return self.write(text, "%a %b %e %H:%M:%S %Y"),
            _ => return None,
        };
        text.push_str(composed);
        Some(())
    }

    fn write(self, text: &mut String, format: &str) -> Option<()> {
        text.push_str(&self.format(format)?);
        Some(())
    }

    /// From 0, a Sunday.
    fn weekday(self) -> u8 {
        let years = u32::from(self.year) - 1;
        let days = years * 365 + years / 4 - years / 100 + years / 400;
        // The first of January of the year 1 was a Monday.
        let weekday = (days + u32::from(self.day_of_year())) % 7;
        u8::try_from(weekday).unwrap_or_default()
    }

    /// From 1.
    fn day_of_year(self) -> u16 {
        let before: u16 = (1..self.month)
            .map(|month| u16::from(days_in(self.year, month)))
            .sum();
        before + u16::from(self.day)
    }
}

/// `%d` pads with zeros, `%-d` does not.
#[derive(Clone, Copy)]
enum Padding {
    On,
    Off,
}

impl Padding {
    fn write(self, text: &mut String, number: u16, digits: usize) -> Option<()> {
        match self {
            Self::On => write!(text, "{number:0digits$}").ok(),
            Self::Off => write!(text, "{number}").ok(),
        }
    }
}

fn days_in(year: u16, month: u8) -> u8 {
    let leaps = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leaps => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        let moment = Moment::date(2024, 7, 4).unwrap().at(15, 5, 9).unwrap();
        let check = |format, expected| {
            assert_eq!(moment.format(format).as_deref(), expected, "{format}");
        };
        check("%d %b %Y", Some("04 Jul 2024"));
        check("%A, %B %-d", Some("Thursday, July 4"));
        check("%e|%j|%y|%I:%M:%S %p", Some(" 4|186|24|03:05:09 PM"));
        check("100%%", Some("100%"));
        check("%Q", None);
        check("%", None);
    }

    #[test]
    fn only_days_that_exist() {
        let check = |(y, m, d), expected| assert_eq!(Moment::date(y, m, d).is_some(), expected);
        check((2024, 2, 29), true);
        check((2023, 2, 29), false);
        check((1900, 2, 29), false);
        check((2000, 2, 29), true);
        check((2024, 13, 1), false);
        check((0, 1, 1), false);
        let weekday = |y, m, d| Moment::date(y, m, d).unwrap().weekday();
        assert_eq!((weekday(1970, 1, 1), weekday(2000, 1, 2)), (4, 0));
    }
}
