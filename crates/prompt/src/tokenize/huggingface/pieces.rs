//! A text as pieces that encode independently: each is looked up, and what is missing is encoded
//! on all threads that are allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::controls::Control;
use super::vocabulary::{Place, Spelled, Vocabulary, Way};
use crate::tokenize::cache::{Cache, Key};
use crate::{TokenizeError, Tokens};

/// Bytes of text that are worth a thread of their own: some milliseconds of encoding against
/// some tens of microseconds for starting it.
const BYTES_PER_THREAD: usize = 16 * 1024;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Text, never empty, and what control tokens in it become.
    Text(Range<usize>, Spelled),
    /// A control token that ends at a byte of the text.
    Control { id: u32, end: usize },
}

/// Cuts what stands behind byte `from` of `text` at the markers in it that are control tokens.
pub(super) fn cut<'a>(
    vocabulary: &Vocabulary,
    text: &str,
    from: usize,
    markers: impl Iterator<Item = &'a Range<usize>>,
    spelled: Spelled,
) -> Vec<Part> {
    let mut cutter = Cutter {
        vocabulary,
        text,
        spelled,
        parts: Vec::new(),
    };
    let mut start = from;
    let mut inner = Vec::new();
    for marker in markers.cloned() {
        let control = text
            .get(marker.clone())
            .and_then(|text| vocabulary.controls().get(text))
            .filter(|_| marker.start >= start);
        match control {
            None => {}
            Some(Control { id, seam: true }) => {
                cutter.between(start..marker.start, &inner);
                inner.clear();
                start = marker.end;
                cutter.parts.push(Part::Control { id, end: start });
            }
            Some(Control { id, seam: false }) => inner.push((marker, id)),
        }
    }
    cutter.between(start..text.len(), &inner);
    cutter.parts
}

struct Cutter<'a> {
    vocabulary: &'a Vocabulary,
    text: &'a str,
    spelled: Spelled,
    parts: Vec<Part>,
}

impl Cutter<'_> {
    /// Adds the text between two seams. With control tokens in it at which the file allows no
    /// cut, it goes through the vocabulary in one piece, as long as nothing else spells one.
    fn between(&mut self, range: Range<usize>, inner: &[(Range<usize>, u32)]) {
        let piece = self.text.get(range.clone()).unwrap_or_default();
        let meant = |found: Range<usize>| {
            let (start, end) = (range.start + found.start, range.start + found.end);
            inner
                .iter()
                .any(|(marker, _)| marker.start <= start && end <= marker.end)
        };
        let whole = match self.spelled {
            Spelled::Plain if inner.is_empty() => Some(Spelled::Plain),
            Spelled::Plain if !self.vocabulary.controls().spelled_in(piece).all(meant) => None,
            Spelled::Plain | Spelled::Control => Some(Spelled::Control),
        };
        if let Some(spelled) = whole {
            return self.text(range, spelled);
        }
        // Someone wrote a control token into the text. Safe goes before equal to the library.
        let mut start = range.start;
        for (marker, id) in inner {
            self.text(start..marker.start, Spelled::Plain);
            start = marker.end;
            self.parts.push(Part::Control {
                id: *id,
                end: start,
            });
        }
        self.text(start..range.end, Spelled::Plain);
    }

    fn text(&mut self, range: Range<usize>, spelled: Spelled) {
        if !range.is_empty() {
            self.parts.push(Part::Text(range, spelled));
        }
    }
}

/// Encodes texts, each distinct one at most once.
pub(super) struct Encoder<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) cache: &'a Cache,
    pub(super) threads: NonZeroUsize,
}

/// A text to encode.
struct Job<'a> {
    key: Key,
    text: &'a str,
    way: Way,
}

impl Encoder<'_> {
    /// Adds the tokens of all parts of `text` to `to`.
    pub(super) fn encode(
        &self,
        text: &str,
        parts: &[Part],
        to: &mut Tokens,
    ) -> Result<(), TokenizeError> {
        let mut keys = Vec::with_capacity(parts.len());
        let mut known: BTreeMap<Key, Arc<Tokens>> = BTreeMap::new();
        let mut wanted = BTreeSet::new();
        let mut jobs = Vec::new();
        for part in parts {
            let Part::Text(range, spelled) = part else {
                continue;
            };
            let job = self.job(text, range, *spelled);
            let key = job.key;
            keys.push(key);
            if known.contains_key(&key) || wanted.contains(&key) {
                continue;
            }
            match self.cache.get(&key) {
                Some(tokens) => drop(known.insert(key, tokens)),
                None => {
                    wanted.insert(key);
                    jobs.push(job);
                }
            }
        }
        for (key, tokens) in self.run(jobs)? {
            self.cache.put(key, Arc::clone(&tokens));
            known.insert(key, tokens);
        }
        let mut keys = keys.iter();
        for part in parts {
            match part {
                Part::Control { id, end } => {
                    to.ids.push(*id);
                    to.ends.extend([*end]);
                }
                Part::Text(range, _) => {
                    if let Some(tokens) = keys.next().and_then(|key| known.get(key)) {
                        to.ids.extend_from_slice(&tokens.ids);
                        to.ends
                            .extend(tokens.ends.iter().map(|end| range.start + end));
                    }
                }
            }
        }
        Ok(())
    }

    fn job<'t>(&self, text: &'t str, range: &Range<usize>, spelled: Spelled) -> Job<'t> {
        let place = self.vocabulary.place(range.start);
        let text = text.get(range.clone()).unwrap_or_default();
        let way = Way { place, spelled };
        let mut hash = blake3::Hasher::new();
        hash.update(&[
            u8::from(place == Place::First),
            u8::from(spelled == Spelled::Control),
        ]);
        hash.update(text.as_bytes());
        let key = *hash.finalize().as_bytes();
        Job { key, text, way }
    }

    /// Threads of this call alone rather than a shared pool: nothing of the application can keep
    /// them busy, nobody has to configure them, and one dependency less decides about it.
    fn run(&self, mut jobs: Vec<Job<'_>>) -> Result<Vec<(Key, Arc<Tokens>)>, TokenizeError> {
        // The longest first, so that none of them is left for the end.
        jobs.sort_by_key(|job| std::cmp::Reverse(job.text.len()));
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<(Key, Arc<Tokens>)>, TokenizeError> {
            let mut done = Vec::new();
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let tokens = self.vocabulary.encode(job.text, job.way)?;
                done.push((job.key, Arc::new(tokens)));
            }
            Ok(done)
        };
        let bytes: usize = jobs.iter().map(|job| job.text.len()).sum();
        let others = (self.threads.get() - 1)
            .min(jobs.len().saturating_sub(1))
            .min(bytes / BYTES_PER_THREAD);
        if others == 0 {
            return work();
        }
        std::thread::scope(|scope| {
            // A thread that the system refuses is one helper less.
            let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
            let helpers: Vec<_> = (0..others).filter_map(start).collect();
            let mut done = work()?;
            for helper in helpers {
                let stopped = |_| TokenizeError::encode(&"a thread of it stopped");
                done.extend(helper.join().map_err(stopped)??);
            }
            Ok(done)
        })
    }
}
