//! Every format with a good file and with lines that are wrong.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::trace::{Arrival, Node};

fn read(text: &str) -> Result<Trace, TraceError> {
    read_trace(text.as_bytes(), None)
}

fn fails(text: &str, expected: &str) {
    let error = read(text).unwrap_err().to_string();
    assert!(
        error.starts_with(expected),
        "`{error}` does not begin with `{expected}`"
    );
}

const MOONCAKE: &str = r#"
{"timestamp": 1000, "input_length": 1100, "output_length": 5, "hash_ids": [7, 8, 9]}
{"timestamp": 3000, "input_length": 1700, "output_length": 6, "hash_ids": [7, 8, 10, 11]}
{"timestamp": 2000, "input_length": 1030, "output_length": 6, "hash_ids": [7, 12, 13]}
"#;

#[test]
fn mooncake_lines_become_a_trie_with_sessions_and_borders() {
    let trace = read(MOONCAKE).unwrap();
    assert_eq!((trace.len(), trace.block_tokens()), (3, 512));
    let arrivals: Vec<_> = trace.calls().iter().map(|c| c.arrival).collect();
    assert_eq!(arrivals, [0.0, 1_000.0, 2_000.0].map(Arrival::AtMs));
    // The third line is the second request; it parts from the first after one block.
    assert_eq!(trace.path(0)[0], trace.path(1)[0]);
    assert_ne!(trace.path(0)[1], trace.path(1)[1]);
    // The last one begins with the whole blocks of the first, so it is its next turn.
    let turns: Vec<_> = trace.calls().iter().map(|c| (c.session, c.turn)).collect();
    assert_eq!(turns, [(0, 0), (1, 0), (0, 1)]);
    assert_eq!(
        [trace.borders(0), trace.borders(1), trace.borders(2)],
        [&[1, 2][..], &[1, 2], &[1, 2, 3]]
    );
}

#[test]
fn what_a_derived_trace_says_is_taken() {
    let text = r#"{"timestamp":0.5,"input_length":130,"output_length":9,"session_id":4,"boundaries":[1,2],"hash_ids":[1,2]}
{"timestamp":9.5,"input_length":140,"output_length":9,"session_id":4,"boundaries":[2],"hash_ids":[1,3]}"#;
    let trace = read(text).unwrap();
    assert_eq!((trace.block_tokens(), trace.borders(1)), (64, &[2][..]));
    assert_eq!((trace.calls()[1].session, trace.calls()[1].turn), (0, 1));
    assert_eq!(trace.ideal_hits(), [0, 64]);
    assert_eq!(
        read_trace(text.as_bytes(), Some(70)).unwrap().path(1).len(),
        2
    );
}

#[test]
fn a_trace_may_be_compressed_in_parts() {
    let (head, rest) = MOONCAKE.split_at(100);
    let packed = |text: &str| {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap()
    };
    let whole = [packed(head), packed(rest)].concat();
    let trace = read_trace(whole.as_slice(), None).unwrap();
    assert_eq!(trace.calls(), read(MOONCAKE).unwrap().calls());
    let cut = read_trace(&whole[..whole.len() - 9], None);
    assert!(cut.is_err(), "{cut:?}");
}

#[test]
fn audit_lines_share_what_their_names_share() {
    let text = r#"{"at_ms":0,"signature":"v=1, b=16, n=100, fp=:AQEBAQEBAQE=:, r=(2;h=:AgICAgICAgI=: 6;h=:AwMDAwMDAwM=:)","affinity":"a","output_tokens":3}
{"at_ms":5,"signature":"v=1, b=16, n=90, fp=:AQEBAQEBAQE=:, r=(2;h=:AgICAgICAgI=: 5;h=:BAQEBAQEBAQ=:)","affinity":"a","output_tokens":3}"#;
    let trace = read(text).unwrap();
    assert_eq!(trace.ideal_hits(), [0, 32]);
    assert_eq!(
        (trace.path(0).len(), trace.borders(1), trace.calls()[1].turn),
        (6, &[2, 5][..], 1)
    );
    fails(
        &text.replacen("b=16, n=100", "b=0, n=100", 1),
        "line 1: `signature`: ",
    );
    fails(
        &text.replacen("b=16, n=90", "b=32, n=0", 1),
        "line 2: another block size",
    );
}

#[test]
fn azure_lines_have_lengths_only() {
    let text = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.5,374,44\n2023-11-16 18:17:04.0,396,109\n";
    let trace = read(text).unwrap();
    assert_eq!(
        (trace.len(), trace.span_ms(), trace.path(1)),
        (2, 500.0, &[] as &[Node])
    );
    assert_eq!(trace.calls()[1].input_tokens, 396);
    fails(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.5,374\n",
        "line 2: expected three fields",
    );
    fails(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.5,x,1\n",
        "line 2: `ContextTokens` is not a number",
    );
    fails(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n",
        "the trace has no request",
    );
}

#[test]
fn a_wrong_line_is_named() {
    fails("", "the trace is empty");
    fails("\n\n", "the trace is empty");
    fails("hello\n", "line 1: no known format");
    fails("{\"timestamp\":1}", "line 1: no known format");
    fails(
        &format!("{MOONCAKE}{{\"timestamp\": 1}}"),
        "line 5: column 16: missing field `input_length`",
    );
    fails(
        &MOONCAKE.replace("1030", "-1"),
        "line 4: column 38: invalid value",
    );
    fails(
        &MOONCAKE.replace("1030", "99999999999"),
        "line 4: `input_length` is 99999999999",
    );
    fails(
        &MOONCAKE.replace("2000", "1e300"),
        "line 4: the time is no number",
    );
    fails(
        &MOONCAKE.replace("1700", "9"),
        "line 3: 9 tokens in 4 `hash_ids` fit no size of a block",
    );
    fails(
        &MOONCAKE.replace("1030", "\"x\""),
        "line 4: column 39: invalid type: string \"x\", expected u64",
    );
    assert!(read_trace(MOONCAKE.as_bytes(), Some(0)).is_err());
    // The magic number of zstd, and then nothing of it.
    assert!(read_trace(&[0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff][..], None).is_err());
    assert!(read_trace(&b"{\"hash_ids\": \xff}"[..], None).is_err());
}
