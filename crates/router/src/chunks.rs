//! Transfer in chunks (RFC 9112, 7.1): takes apart what comes, and frames what goes.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use crate::come::take;
use crate::trailers;

/// Bytes of extensions and trailers that are put up with.
const MOST_BESIDE: usize = 16 << 10;

const MOST_TRAILERS: usize = 64;

/// What came is no chunk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Goes through chunks as they come.
pub(crate) struct Chunks {
    state: State,
    /// Of the size that is being read, or of data still to come.
    left: u64,
    has_digits: bool,
    beside_bytes: usize,
    trailers: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    Extension,
    SizeEnd,
    Data,
    DataReturn,
    DataEnd,
    Trailers,
    Ended,
    Broken,
}

impl Chunks {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Size,
            left: 0,
            has_digits: false,
            beside_bytes: 0,
            trailers: Vec::new(),
        }
    }

    /// Whether the last chunk, and what follows it, has come.
    pub(crate) fn is_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Takes a chunk, or as much of it as came; nothing if more must come. Chunks are not put
    /// together: there are clients that take each for an event.
    pub(crate) fn next(&mut self, come: &mut Bytes) -> Result<Option<Bytes>, Malformed> {
        self.skip_frame(come)?;
        if self.state != State::Data || come.is_empty() {
            return Ok(None);
        }
        let piece = take(come, usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= piece.len() as u64;
        if self.left == 0 {
            self.state = State::DataReturn;
        }
        Ok(Some(piece))
    }

    /// Whether trailers came and were not taken yet.
    pub(crate) fn has_trailers(&self) -> bool {
        self.is_ended() && !self.trailers.is_empty()
    }

    /// Trailers that go on, once all has come; they are given once.
    pub(crate) fn trailers(&mut self) -> Result<Option<HeaderMap>, Malformed> {
        if !self.has_trailers() {
            return Ok(None);
        }
        let text = std::mem::take(&mut self.trailers);
        let mut lines = [httparse::EMPTY_HEADER; MOST_TRAILERS];
        let parsed = httparse::parse_headers(&text, &mut lines);
        let Ok(httparse::Status::Complete((_, lines))) = parsed else {
            return Err(Malformed);
        };
        let mut trailers = HeaderMap::with_capacity(lines.len());
        for line in lines {
            let name = HeaderName::from_bytes(line.name.as_bytes()).map_err(|_| Malformed)?;
            let value = HeaderValue::from_bytes(line.value).map_err(|_| Malformed)?;
            trailers.append(name, value);
        }
        trailers::strip(&mut trailers);
        Ok(Some(trailers).filter(|trailers| !trailers.is_empty()))
    }

    /// Goes on to the next data, or to the end.
    pub(crate) fn skip_frame(&mut self, come: &mut Bytes) -> Result<(), Malformed> {
        let mut passed = 0;
        for byte in come.iter() {
            if matches!(self.state, State::Data | State::Ended | State::Broken) {
                break;
            }
            self.state = self.step(*byte).unwrap_or(State::Broken);
            passed += 1;
        }
        come.advance(passed);
        (self.state != State::Broken).then_some(()).ok_or(Malformed)
    }

    fn step(&mut self, byte: u8) -> Result<State, Malformed> {
        Ok(match (self.state, byte) {
            (State::Size, b'\r') if self.has_digits => State::SizeEnd,
            (State::Size, b';' | b' ' | b'\t') if self.has_digits => State::Extension,
            (State::Size, _) => self.digit(byte)?,
            (State::Extension, b'\r') => State::SizeEnd,
            (State::Extension, b'\n') => return Err(Malformed),
            (State::Extension, _) => {
                self.count_beside()?;
                State::Extension
            }
            (State::SizeEnd, b'\n') => {
                self.has_digits = false;
                if self.left == 0 {
                    State::Trailers
                } else {
                    State::Data
                }
            }
            (State::DataReturn, b'\r') => State::DataEnd,
            (State::DataEnd, b'\n') => State::Size,
            (State::Trailers, _) => self.trailer(byte)?,
            _ => return Err(Malformed),
        })
    }

    fn digit(&mut self, byte: u8) -> Result<State, Malformed> {
        let digit = char::from(byte).to_digit(16).ok_or(Malformed)?;
        let shifted = self.left.checked_mul(16).ok_or(Malformed)?;
        self.left = shifted + u64::from(digit);
        self.has_digits = true;
        Ok(State::Size)
    }

    fn count_beside(&mut self) -> Result<(), Malformed> {
        self.beside_bytes += 1;
        (self.beside_bytes <= MOST_BESIDE)
            .then_some(())
            .ok_or(Malformed)
    }

    fn trailer(&mut self, byte: u8) -> Result<State, Malformed> {
        self.count_beside()?;
        self.trailers.push(byte);
        if self.trailers == b"\r\n" {
            self.trailers.clear();
            return Ok(State::Ended);
        }
        Ok(if self.trailers.ends_with(b"\r\n\r\n") {
            State::Ended
        } else {
            State::Trailers
        })
    }
}

/// What stands before the data of a chunk.
pub(crate) fn frame(data_bytes: usize) -> Bytes {
    format!("{data_bytes:X}\r\n").into()
}

/// What stands behind it.
pub(crate) const FRAME_END: Bytes = Bytes::from_static(b"\r\n");

/// The last chunk, with trailers where there are any.
pub(crate) fn last(trailers: &HeaderMap) -> Bytes {
    if trailers.is_empty() {
        return Bytes::from_static(b"0\r\n\r\n");
    }
    let mut text = BytesMut::from(&b"0\r\n"[..]);
    for (name, value) in trailers {
        text.put_slice(name.as_str().as_bytes());
        text.put_slice(b": ");
        text.put_slice(value.as_bytes());
        text.put_slice(b"\r\n");
    }
    text.put_slice(b"\r\n");
    text.freeze()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug)]
    struct Read {
        data: Vec<u8>,
        /// What followed the end, if it came.
        rest: Option<Vec<u8>>,
        trailers: Result<Option<HeaderMap>, Malformed>,
        later: Result<Option<HeaderMap>, Malformed>,
    }

    /// Reads chunks that come in the given pieces.
    fn read(pieces: &[&[u8]]) -> Result<Read, Malformed> {
        let mut chunks = Chunks::new();
        let mut data = Vec::new();
        let mut rest: Option<Vec<u8>> = None;
        for piece in pieces {
            let mut come = Bytes::copy_from_slice(piece);
            if let Some(rest) = &mut rest {
                rest.extend_from_slice(&come);
                continue;
            }
            while let Some(piece) = chunks.next(&mut come)? {
                data.extend_from_slice(&piece);
            }
            if chunks.is_ended() {
                rest = Some(come.to_vec());
            }
        }
        Ok(Read {
            data,
            rest,
            trailers: chunks.trailers(),
            later: chunks.trailers(),
        })
    }

    fn check(text: &str, expected: Result<(&str, Option<&str>), Malformed>) {
        let bytes = text.as_bytes();
        for cut in 0..=bytes.len() {
            let found = read(&[&bytes[..cut], &bytes[cut..]]);
            let found = found.map(|read| (read.data, read.rest));
            let wanted = expected.as_ref().map_err(|_| Malformed);
            let wanted = wanted.map(|(data, rest)| {
                let rest = rest.map(|rest| rest.as_bytes().to_vec());
                (data.as_bytes().to_vec(), rest)
            });
            assert_eq!(found, wanted, "{text:?} cut at {cut}");
        }
    }

    #[test]
    fn frames_are_taken_off() {
        check("3\r\nabc\r\n0\r\n\r\n", Ok(("abc", Some(""))));
        check(
            "3\r\nabc\r\n00A;x=y\r\n0123456789\r\n0\r\n\r\nHTTP",
            Ok(("abc0123456789", Some("HTTP"))),
        );
        check("a \r\n0123456789\r\n", Ok(("0123456789", None)));
        check("0\r\nx: 1\r\ny: 2\r\n\r\n", Ok(("", Some(""))));
        check("3\r\nab", Ok(("ab", None)));
        for bad in [
            "\r\n",
            "x\r\n",
            "3\nabc\r\n",
            "3\r\nabcd\r\n",
            "-1\r\n",
            "3;a\n",
            "11111111111111111\r\n",
        ] {
            assert!(read(&[bad.as_bytes()]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn trailers_are_given_once() {
        let read_one = read(&[b"0\r\nX-Sum: 7\r\n\r\n"]).unwrap();
        assert_eq!(read_one.trailers.unwrap().unwrap()["x-sum"], "7");
        assert_eq!(read_one.later, Ok(None));
        let bad = read(&[b"0\r\nno trailer\r\n\r\n"]).unwrap();
        assert_eq!(bad.trailers, Err(Malformed));
    }

    #[test]
    fn trailers_stand_behind_the_last_chunk() {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", HeaderValue::from_static("7"));
        assert_eq!(last(&trailers), "0\r\nx-sum: 7\r\n\r\n");
    }

    #[test]
    fn endless_frames_are_refused() {
        let extension = format!("1;{}", "x".repeat(MOST_BESIDE + 1));
        assert!(read(&[extension.as_bytes()]).is_err());
        let trailers = format!("0\r\nx: {}", "y".repeat(MOST_BESIDE));
        assert!(read(&[trailers.as_bytes()]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_framed_comes_out_again(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..9_000), 0..5),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let mut text = Vec::new();
            for part in &parts {
                text.extend_from_slice(&frame(part.len()));
                text.extend_from_slice(part);
                text.extend_from_slice(&FRAME_END);
            }
            text.extend_from_slice(&last(&HeaderMap::new()));
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            let found = read(&pieces).unwrap();
            prop_assert_eq!(found.data, parts.concat());
            prop_assert_eq!(found.rest, Some(Vec::new()));
        }

        #[test]
        fn no_bytes_stop_the_reader(pieces in prop::collection::vec(prop::collection::vec(
            prop::sample::select(b"\r\n0a;x: ".to_vec()), 0..20), 0..6))
        {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let _ = read(&pieces);
        }
    }
}
