//! Where the text of a string stands in the file that holds it, through escapes and indentation.

use headwater_text::Span;

use crate::notation::{Notation, Place, write};

/// Leads from bytes of a decoded text to bytes of a file.
///
/// The decoded text is cut into runs without gaps. A run is either copied, byte for byte, or stands for
/// other bytes of the file, as `\n` stands for a line end.
#[derive(Clone, Debug, Default)]
pub(crate) struct OffsetMap {
    runs: Vec<Run>,
    /// One for each string, in order of the decoded text.
    strings: Vec<StringPlace>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    /// First byte in the decoded text; the run ends where the next one begins.
    decoded: usize,
    /// First byte in the file.
    file: usize,
    /// Bytes in the file.
    file_bytes: usize,
    is_copied: bool,
}

/// A string of the file.
#[derive(Clone, Copy, Debug)]
struct StringPlace {
    /// Its text in the decoded text.
    decoded: Span,
    notation: Notation,
}

/// Text and map of strings, put one behind the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decoder {
    pub(crate) text: String,
    map: OffsetMap,
}

impl Decoder {
    /// Begins a string of the file.
    pub(crate) fn begin(&mut self, notation: Notation) {
        let at = self.text.len();
        self.map.strings.push(StringPlace {
            decoded: Span::new(at, at),
            notation,
        });
    }

    /// Adds text that the file holds just so at a byte.
    pub(crate) fn copy(&mut self, text: &str, file: usize) {
        if text.is_empty() {
            return;
        }
        let decoded = self.text.len();
        self.text.push_str(text);
        self.grow();
        let run = Run {
            decoded,
            file,
            file_bytes: text.len(),
            is_copied: true,
        };
        match self.map.runs.last_mut() {
            Some(last) if last.is_copied && last.file + last.file_bytes == file => {
                last.file_bytes += text.len();
            }
            _ => self.map.runs.push(run),
        }
    }

    /// Adds text for which a stretch of the file stands.
    pub(crate) fn stand_for(&mut self, text: &str, file: Span) {
        if text.is_empty() {
            return;
        }
        let decoded = self.text.len();
        self.text.push_str(text);
        self.grow();
        self.map.runs.push(Run {
            decoded,
            file: file.start,
            file_bytes: file.end - file.start,
            is_copied: false,
        });
    }

    /// Appends what another decoder made.
    pub(crate) fn append(&mut self, other: &Self) {
        let base = self.text.len();
        self.text.push_str(&other.text);
        self.map.runs.extend(other.map.runs.iter().map(|run| Run {
            decoded: base + run.decoded,
            ..*run
        }));
        let strings = other.map.strings.iter().map(|string| StringPlace {
            decoded: Span::new(base + string.decoded.start, base + string.decoded.end),
            ..*string
        });
        self.map.strings.extend(strings);
    }

    /// Text and map.
    pub(crate) fn finish(self) -> (String, OffsetMap) {
        (self.text, self.map)
    }

    fn grow(&mut self) {
        if let Some(string) = self.map.strings.last_mut() {
            string.decoded.end = self.text.len();
        }
    }
}

impl OffsetMap {
    /// The bytes of the file behind a span of the decoded text.
    pub(crate) fn in_file(&self, span: Span) -> Span {
        let start = self.start(span.start);
        if span.end <= span.start {
            return Span::new(start, start);
        }
        let limit = self.string(span.start).map_or(span.end, |string| {
            span.end.min(string.decoded.end).max(span.start + 1)
        });
        Span::new(start, self.end(limit).max(start))
    }

    /// The bytes of the file that runs stand for, in order of the decoded text.
    pub(crate) fn places(&self) -> Vec<Span> {
        let place = |run: &Run| Span::new(run.file, run.file + run.file_bytes);
        self.runs.iter().map(place).collect()
    }

    /// The byte of the decoded text at a byte of the file.
    pub(crate) fn in_text(&self, offset: usize) -> Option<usize> {
        let run = self
            .runs
            .iter()
            .find(|run| (run.file..run.file + run.file_bytes).contains(&offset))?;
        let within = if run.is_copied { offset - run.file } else { 0 };
        Some(run.decoded + within)
    }

    /// What to write where in the file, so that `replacement` is read in the place of `span`.
    pub(crate) fn edit(&self, file: &str, span: Span, replacement: &str) -> Option<(Span, String)> {
        let string = self.string(span.start)?;
        let is_inside = string.decoded.start <= span.start && span.end <= string.decoded.end;
        // No byte of the file tells where an empty string stands.
        if !is_inside || string.decoded.start == string.decoded.end {
            return None;
        }
        let place = self.in_file(span);
        let is_blank = |part: Option<&str>| part.unwrap_or_default().trim().is_empty();
        let mut place = Place {
            file,
            span: place,
            at_start: is_blank(file.get(self.start(string.decoded.start)..place.start)),
            at_end: is_blank(file.get(place.end..self.end(string.decoded.end))),
            whole_lines: false,
        };
        if let Notation::YamlLiteral { indent } = string.notation {
            place.take_whole_lines(indent);
        }
        let written = write(string.notation, &place, replacement)?;
        Some((place.span, written))
    }

    /// Where the byte at `offset` begins; behind the last byte at its end.
    fn start(&self, offset: usize) -> usize {
        match self.run(offset) {
            Some((run, decoded_end)) if offset < decoded_end => run.at(offset),
            Some((run, _)) => run.file + run.file_bytes,
            None => 0,
        }
    }

    /// Where the byte before `offset` ends.
    fn end(&self, offset: usize) -> usize {
        match self.run(offset.saturating_sub(1)) {
            Some((run, _)) if run.is_copied => {
                run.file + (offset - run.decoded).min(run.file_bytes)
            }
            Some((run, _)) => run.file + run.file_bytes,
            None => 0,
        }
    }

    /// The run that holds a byte, else the last one before it, with its end in the decoded text.
    fn run(&self, offset: usize) -> Option<(&Run, usize)> {
        let next = self.runs.partition_point(|run| run.decoded <= offset);
        let run = self.runs.get(next.checked_sub(1)?)?;
        let end = self.runs.get(next).map_or_else(
            || self.strings.last().map_or(offset, |last| last.decoded.end),
            |next| next.decoded,
        );
        Some((run, end))
    }

    fn string(&self, offset: usize) -> Option<&StringPlace> {
        let next = self
            .strings
            .partition_point(|string| string.decoded.end <= offset);
        self.strings.get(next).or(self.strings.last())
    }
}

impl Run {
    fn at(&self, offset: usize) -> usize {
        if self.is_copied {
            self.file + (offset - self.decoded)
        } else {
            self.file
        }
    }
}
