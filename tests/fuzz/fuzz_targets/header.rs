//! Any bytes as `Prefix-Signature` and as `Prefix-Route`: no panic, agreement with `sfv`, and what
//! was read comes back from its own text.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../../crates/signature/tests/oracle/mod.rs"]
mod oracle;

fuzz_target!(|header: &[u8]| {
    oracle::check_signature(header);
    oracle::check_route(header);
});
