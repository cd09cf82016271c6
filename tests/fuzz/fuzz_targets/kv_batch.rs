//! KV events from an engine: any payload is a batch or nothing.
#![no_main]

use headwater_router::kv_batch::Batch;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|payload: &[u8]| {
    let Some(batch) = Batch::parse(payload) else {
        return;
    };
    // An event is at least a byte of the payload.
    assert!(batch.events.len() <= payload.len());
});
