//! Files compressed with zstd: frame after frame, as `cat` or a parallel compressor puts them
//! together.

use std::io::{self, BufRead, Chain, Cursor, Read};
use std::mem;

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The text of all frames. Anything else behind one is an error.
pub(super) struct Frames<R: Read>(State<R>);

/// A frame whose first bytes have been looked at already.
type Looked<R> = Chain<Cursor<[u8; 4]>, R>;

enum State<R: Read> {
    Within(Box<StreamingDecoder<Looked<R>, FrameDecoder>>),
    Between(R),
    Ended,
}

/// Whether a file with this head is such a one.
pub(super) fn begins(head: &[u8]) -> bool {
    head.starts_with(&FRAME) || is_skippable(head)
}

/// Frames that carry something else than text: `50 2a 4d 18` to `5f 2a 4d 18`, then a length.
fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

impl<R: BufRead> Frames<R> {
    pub(super) fn of(source: R) -> Self {
        Self(State::Between(source))
    }

    /// Goes to the beginning of the next frame.
    fn next(mut source: R) -> io::Result<State<R>> {
        loop {
            if source.fill_buf()?.is_empty() {
                return Ok(State::Ended);
            }
            let mut magic = [0; 4];
            source.read_exact(&mut magic)?;
            if is_skippable(&magic) {
                let mut length = [0; 4];
                source.read_exact(&mut length)?;
                let length = u64::from(u32::from_le_bytes(length));
                let skipped = io::copy(&mut source.by_ref().take(length), &mut io::sink())?;
                if skipped < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                continue;
            }
            if magic != FRAME {
                let what = "the compressed text is followed by something that is no zstd frame";
                return Err(io::Error::other(what));
            }
            let decoder =
                StreamingDecoder::new(Cursor::new(magic).chain(source)).map_err(|error| {
                    io::Error::other(format!("no zstd that this can read: {error}"))
                })?;
            return Ok(State::Within(Box::new(decoder)));
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.0 = match mem::replace(&mut self.0, State::Ended) {
                State::Ended => return Ok(0),
                State::Between(source) => Self::next(source)?,
                State::Within(mut decoder) => match decoder.read(buffer)? {
                    0 if !buffer.is_empty() => State::Between(decoder.into_inner().into_inner().1),
                    bytes => {
                        self.0 = State::Within(decoder);
                        return Ok(bytes);
                    }
                },
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with one block of plain bytes, as RFC 8878 has it.
    fn frame(text: &str) -> Vec<u8> {
        let size = u8::try_from(text.len()).unwrap();
        let block = (u32::from(size) << 3 | 1).to_le_bytes();
        // One segment, whose size is one byte; the last block, raw.
        let mut frame = [FRAME.as_slice(), &[0x20, size], &block[..3]].concat();
        frame.extend_from_slice(text.as_bytes());
        frame
    }

    fn read(file: &[u8]) -> io::Result<String> {
        assert!(begins(file));
        let mut text = String::new();
        Frames::of(file).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn all_frames_are_read_and_nothing_else() {
        let skippable = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
        let all = [
            skippable.as_slice(),
            &frame("one\n"),
            &frame(""),
            &skippable,
            &frame("two\n"),
        ];
        assert_eq!(read(&all.concat()).unwrap(), "one\ntwo\n");
        let behind = [frame("one").as_slice(), b"rest"].concat();
        assert!(
            read(&behind)
                .unwrap_err()
                .to_string()
                .contains("no zstd frame")
        );
        for cut in [&behind[..8], &frame("one")[..10], &skippable[..9], &FRAME] {
            assert!(read(cut).is_err(), "{cut:?}");
        }
    }
}
