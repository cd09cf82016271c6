//! Any text as an engine's metrics page: no panic, and lines do not disturb each other.
#![no_main]

use headwater_router::exposition::{Sample, samples};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|page: &[u8]| {
    let page = String::from_utf8_lossy(page);
    let whole = samples(&page).map(told);
    let by_line = page.lines().flat_map(|line| samples(line).map(told));
    assert!(whole.eq(by_line));
});

/// What can be read of a sample; a value by its bits, since not a number differs from itself.
fn told(sample: Sample<'_>) -> (String, u64, Option<String>) {
    assert!(!sample.name.is_empty());
    let label = sample.label("engine").map(|value| value.into_owned());
    (sample.name.to_owned(), sample.value.to_bits(), label)
}
