//! A second look at the head of an HTTP/1.1 request, for what its parser forgives: a length
//! beside chunks, and lines that end without a carriage return. Two parties that read such a
//! head differently can be made to see different requests. And for what it does not tell: whether
//! there is a path behind a host.

use memchr::memchr;

/// What was seen of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Head {
    /// Not all of it: it came together with an earlier request.
    #[default]
    Unseen,
    /// Nothing that could be read in two ways.
    Plain,
    /// The same, and it asks with `OPTIONS` for something that does not end with a slash: where that
    /// is a host alone, its parser makes a path of one.
    PlainOptions,
    /// Something that could.
    Ambiguous,
}

/// The longest name that matters, with its colon.
const LONGEST: usize = b"transfer-encoding:".len();

/// How a request line ends: the last byte of its target, the version, a carriage return.
const ENDING: usize = b"/ HTTP/1.1\r".len();

/// Goes through the bytes of one head as they come.
#[derive(Default)]
pub(crate) struct HeadScan {
    start: [u8; LONGEST],
    /// The last bytes of a line that comes in pieces.
    end: [u8; ENDING],
    /// Bytes of the line so far.
    line_bytes: usize,
    last: u8,
    is_request: bool,
    is_plain_options: bool,
    has_request_line: bool,
    has_length: bool,
    has_coding: bool,
    has_bare_end: bool,
}

impl HeadScan {
    /// Takes what came next; gives what was seen once the head is complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Option<Head> {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            let ended = if self.line_bytes == 0 {
                // Nearly always: the line has come in one piece.
                self.end_line(line.len(), line.last() == Some(&b'\r'), line, line)
            } else {
                self.extend(line);
                let start = self.start;
                let start = start.get(..self.line_bytes).unwrap_or(&start);
                let (end, length) = (self.end, std::mem::take(&mut self.line_bytes));
                self.end_line(length, self.last == b'\r', start, &end)
            };
            if ended == Line::LastOfHead {
                return Some(self.verdict());
            }
        }
        self.extend(rest);
        None
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = self.start.get_mut(self.line_bytes..).unwrap_or_default();
        for (kept, byte) in room.iter_mut().zip(bytes) {
            *kept = *byte;
        }
        if self.line_bytes == 0 {
            self.end = [0; ENDING];
        }
        let new = bytes.get(bytes.len().saturating_sub(ENDING)..);
        let new = new.unwrap_or_default();
        self.end.rotate_left(new.len());
        if let Some(place) = self.end.get_mut(ENDING - new.len()..) {
            place.copy_from_slice(new);
        }
        self.line_bytes += bytes.len();
        self.last = bytes.last().copied().unwrap_or(self.last);
    }

    /// Looks at a line of a length, with a carriage return at its end or not, by its start and
    /// its end.
    fn end_line(&mut self, length: usize, returns: bool, start: &[u8], end: &[u8]) -> Line {
        self.has_bare_end |= !returns;
        if length == usize::from(returns) {
            // Empty lines before a request are allowed.
            return if self.has_request_line {
                Line::LastOfHead
            } else {
                Line::Another
            };
        }
        if !self.has_request_line {
            self.has_request_line = true;
            let line = end.trim_ascii_end();
            self.is_request = line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0");
            self.is_plain_options = start.starts_with(b"OPTIONS ") && !ends_with_a_path(line);
            return Line::Another;
        }
        let starts = |name: &[u8]| {
            let start = start.get(..name.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        match start.first() {
            Some(b't' | b'T') => self.has_coding |= starts(b"transfer-encoding:"),
            Some(b'c' | b'C') => self.has_length |= starts(b"content-length:"),
            _ => {}
        }
        Line::Another
    }

    fn verdict(&self) -> Head {
        if !self.is_request {
            // The scan began in the middle of something.
            return Head::Unseen;
        }
        if self.has_bare_end || (self.has_coding && self.has_length) {
            return Head::Ambiguous;
        }
        match self.is_plain_options {
            true => Head::PlainOptions,
            false => Head::Plain,
        }
    }
}

/// Whether the target of a request line ends with a slash.
fn ends_with_a_path(line: &[u8]) -> bool {
    let target = line.len().checked_sub(b" HTTP/1.1".len());
    let target = target.and_then(|end| line.get(..end));
    target.is_some_and(|target| target.ends_with(b"/"))
}

#[derive(PartialEq, Eq)]
enum Line {
    Another,
    LastOfHead,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(head: &str, expected: Option<Head>) {
        assert_eq!(
            HeadScan::default().feed(head.as_bytes()),
            expected,
            "{head:?}"
        );
        // Wherever the bytes are cut.
        for cut in 0..head.len() {
            let mut scan = HeadScan::default();
            let whole = scan
                .feed(&head.as_bytes()[..cut])
                .or_else(|| scan.feed(&head.as_bytes()[cut..]));
            assert_eq!(whole, expected, "{head:?} cut at {cut}");
        }
    }

    #[test]
    fn a_head_that_can_be_read_in_two_ways_is_found() {
        let line = "POST / HTTP/1.1\r\n";
        check(&format!("{line}host: a\r\n\r\n"), Some(Head::Plain));
        check(
            &format!("\r\n{line}Content-Length: 3\r\n\r\nabc"),
            Some(Head::Plain),
        );
        check(
            &format!("{line}transfer-encoding: chunked\r\n\r\n"),
            Some(Head::Plain),
        );
        for (one, two) in [
            ("Content-Length: 3", "Transfer-Encoding: chunked"),
            ("transfer-encoding:chunked", "content-length:3"),
        ] {
            check(
                &format!("{line}{one}\r\nx: y\r\n{two}\r\n\r\n"),
                Some(Head::Ambiguous),
            );
        }
        check(
            &format!("{line}x-content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n"),
            Some(Head::Plain),
        );
        check(&format!("{line}host: a\n\r\n"), Some(Head::Ambiguous));
        check(&format!("{line}host: a\r\n\n"), Some(Head::Ambiguous));
        check("POST / HTTP/1.1\nhost: a\r\n\r\n", Some(Head::Ambiguous));
        check("OPTIONS / HTTP/1.1\r\n\r\n", Some(Head::Plain));
        check("OPTIONS http://a/ HTTP/1.1\r\n\r\n", Some(Head::Plain));
        let of_server = "OPTIONS http://a HTTP/1.1\r\nhost: a\r\n\r\n";
        check(of_server, Some(Head::PlainOptions));
        check(&format!("{line}host: a\r\n"), None);
        check(
            "ransfer-Encoding: chunked\r\nhost: a\n\n",
            Some(Head::Unseen),
        );
    }

    proptest! {
        #[test]
        fn no_bytes_stop_the_scan(pieces in prop::collection::vec(prop::collection::vec(
            prop::sample::select(b"\r\n: aT/1".to_vec()), 0..30), 0..6))
        {
            let mut scan = HeadScan::default();
            for piece in pieces {
                let _ = scan.feed(&piece);
            }
        }
    }
}
