//! Any text as the router's configuration: no panic, an error says where, a success has workers.
#![no_main]

use headwater_router::Config;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let Ok(text) = str::from_utf8(file) else {
        return;
    };
    match Config::parse(text, "r.yaml") {
        Ok(config) => assert!(!config.workers.is_empty()),
        Err(error) => assert!(error.to_string().starts_with("r.yaml:")),
    }
});
