//! Notices that the configuration file is another one, by looking once a second.
//!
//! Looking costs one system call. Notifications of the kernel are about files, and what
//! Kubernetes exchanges under a ConfigMap is a link two folders away.

use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_router::file_stamp::Stamp;

/// How often to look.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);

/// A file and what it was when it was last read.
pub(crate) struct WatchedFile {
    path: PathBuf,
    read: Option<Stamp>,
    seen: Option<Stamp>,
}

impl WatchedFile {
    /// The file as it is now counts as read: who makes this reads it afterwards.
    pub(crate) fn new(path: &Path) -> Self {
        let now = Stamp::of(path);
        Self {
            path: path.to_owned(),
            read: now,
            seen: now,
        }
    }

    /// Somebody reads it now for another reason.
    pub(crate) fn is_read(&mut self) {
        self.read = Stamp::of(&self.path);
        self.seen = self.read;
    }

    /// Looks; gives whether the file should be read again. It should once it has stayed the
    /// same from one look to the next, so that nobody reads what is still being written.
    pub(crate) fn look(&mut self) -> bool {
        let now = Stamp::of(&self.path);
        let settled = now == self.seen;
        self.seen = now;
        // A file that is gone may be on its way; what was read stays.
        if !settled || now.is_none() || now == self.read {
            return false;
        }
        self.read = now;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_read_again_once_it_has_settled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.yaml");
        fs::write(&path, "one").unwrap();
        let mut file = WatchedFile::new(&path);
        let check = |file: &mut WatchedFile, expected: [bool; 3]| {
            assert_eq!([file.look(), file.look(), file.look()], expected);
        };
        check(&mut file, [false, false, false]);
        fs::write(&path, "longer").unwrap();
        check(&mut file, [false, true, false]);
        fs::remove_file(&path).unwrap();
        check(&mut file, [false, false, false]);
        fs::write(&path, "another length").unwrap();
        check(&mut file, [false, true, false]);
        fs::write(&path, "still").unwrap();
        assert!(!file.look());
        fs::write(&path, "being written").unwrap();
        check(&mut file, [false, true, false]);
    }

    #[test]
    fn a_swapped_link_is_another_file() {
        // As a ConfigMap is mounted: file -> ..data/file, ..data -> a folder with a date.
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["one", "two"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("r.yaml"), "same").unwrap();
        }
        symlink("one", at("..data")).unwrap();
        symlink("..data/r.yaml", at("r.yaml")).unwrap();
        let mut file = WatchedFile::new(&at("r.yaml"));
        assert!(!file.look());
        symlink("two", at("..next")).unwrap();
        fs::rename(at("..next"), at("..data")).unwrap();
        assert!(!file.look());
        assert!(file.look());
        assert!(!file.look());
    }
}
