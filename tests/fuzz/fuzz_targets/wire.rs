//! Any bytes from a client over a socket: the router answers in HTTP or not at all, goes on, and
//! its worker, which is strict, gets nothing but requests with one meaning.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

#[path = "../../../crates/router/tests/router/strict.rs"]
mod strict;

static STRICT: OnceLock<strict::Strict> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    STRICT.get_or_init(strict::Strict::start).check(bytes);
});
