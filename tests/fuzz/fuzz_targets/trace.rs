//! Any bytes as a trace: no panic, and what is read is a trace that can be run.
#![no_main]

use headwater_simulator::read::read_trace;
use headwater_simulator::trace::Arrival;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = read_trace(bytes, None) else {
        return;
    };
    assert!(!trace.is_empty());
    let mut before = 0.0;
    for (request, call) in trace.calls().iter().enumerate() {
        let Arrival::AtMs(at) = call.arrival else {
            panic!("a file has no requests that wait for others");
        };
        assert!(at >= before && call.input_tokens >= 1);
        before = at;
        let blocks = trace.path(request).len();
        assert!(blocks <= (call.input_tokens / trace.block_tokens()) as usize);
        assert!(trace.path(request).iter().all(|node| node.index() < trace.node_count()));
        assert!(trace.borders(request).iter().all(|border| *border as usize <= blocks));
    }
    assert_eq!(trace.ideal_hits().len(), trace.len());
});
