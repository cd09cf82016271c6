//! Tells whether a file is another one than before, by what the system says of it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What differs when a file was written to, replaced, or reached through another link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    /// Of the entry itself: also where a copy brings the time of its original along.
    changed: (i64, i64),
}

impl Stamp {
    /// That of the file at a path, links followed; nothing if there is none to be had.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok()?;
        Some(Self {
            device: file.dev(),
            inode: file.ino(),
            length: file.len(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }
}
