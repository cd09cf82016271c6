//! What cleaning costs, a mebibyte at a time, for the kinds of text that prompts are made of.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use headwater_text::{Profile, clean};

/// English, as most instructions are.
const PLAIN: &str = "The ferry to the north quay leaves at a quarter past the hour.\n";

/// Names with accents, a Chinese name, an emoji now and then.
const LETTERS: &str = "Fähre nach Norden: 渡船每小时一班, отход в 12:15. 🙂 Café du Port.\n";

/// Chinese prose with its own punctuation.
const CHINESE: &str = "渡船每小时一班，从北码头出发。“请提前十分钟到达”——候船室在右边。\n";

/// Every line has something to clean, as a file from another system does.
const DIRTY: &str = "Fähre nach Norden — 渡船每小时一班, отход в 12:15.\u{200B} \r\n";

/// English with a line of letters every fourth line and a dirty one every twentieth.
fn mixed() -> String {
    let lines = (0..20).map(|line| match line {
        19 => DIRTY,
        _ if line % 4 == 3 => LETTERS,
        _ => PLAIN,
    });
    lines.collect()
}

fn mebibyte(lines: &str) -> String {
    lines.repeat((1 << 20) / lines.len())
}

fn cleaning(c: &mut Criterion) {
    let crlf = PLAIN.replace('\n', "\r\n");
    let texts = [
        ("ascii", PLAIN.to_owned()),
        ("ascii with crlf", crlf),
        ("mixed", mixed()),
        ("letters", LETTERS.to_owned()),
        ("chinese", CHINESE.to_owned()),
        ("dirty", DIRTY.to_owned()),
    ];
    for profile in [Profile::Strict, Profile::Dynamic] {
        let mut group = c.benchmark_group(profile.as_str());
        for (name, lines) in &texts {
            let text = mebibyte(lines);
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_function(*name, |b| b.iter(|| clean(black_box(&text), profile)));
        }
        group.finish();
    }
}

criterion_group!(benches, cleaning);
criterion_main!(benches);
