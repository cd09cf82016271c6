//! Files as text, within bounds; an error says where the text stops being text.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use headwater::text::LineTable;

/// The largest prompt file, and the largest text file that it names, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads a file; `name` is what errors call it.
pub(super) fn open(path: &Path, name: &str) -> anyhow::Result<String> {
    let file = File::open(path)
        .with_context(|| format!("cannot read `{name}`; give the path of a prompt file, or -"))?;
    text(file, name)
}

/// Reads to the end, if that is near enough, and wants UTF-8.
pub(super) fn text(from: impl Read, name: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read `{name}`"))?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("`{name}` is over {MAX_BYTES} bytes; no engine takes a prompt of that length");
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(error.as_bytes().get(..valid).unwrap_or_default());
        let position = LineTable::new(&before).position(valid);
        anyhow!("{name}:{position}: not UTF-8 from here on; save the file as UTF-8")
    })
}
