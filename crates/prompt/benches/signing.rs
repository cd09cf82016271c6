//! What signing costs: a cold signature beside the hashes that it cannot do without, and the next
//! turn of a long conversation beside the same prompt signed cold.

#![expect(clippy::unwrap_used, reason = "a bench may stop at the first surprise")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use headwater::signature::BlockSize;
use headwater::{
    BytesTokenizer, Chat, Conversation, HfTokenizer, Prepared, SignOptions, SpecialTokens,
    Tokenize, Turn,
};

#[path = "../tests/support/tiny.rs"]
mod tiny;

type Shared = Arc<dyn Tokenize + Send + Sync>;

const PLAIN: &str = "The ferry to the north quay leaves at a quarter past the hour.\n";

fn megabyte(line: &str) -> String {
    line.repeat((1 << 20) / line.len())
}

fn cold(c: &mut Criterion) {
    let text = megabyte(PLAIN);
    let prompt_bytes = text.len();
    let mut group = c.benchmark_group("sign");
    group.throughput(Throughput::Bytes(text.len() as u64));
    let prompt = Chat::new()
        .system(text)
        .turn(Turn::user("When?"))
        .prompt()
        .unwrap();
    for tokens in [16, 32, 64] {
        let block = BlockSize::new(tokens).unwrap();
        let options = SignOptions {
            block,
            ..SignOptions::default()
        };
        group.bench_function(format!("bytes, blocks of {tokens}"), |b| {
            b.iter(|| prompt.sign(&BytesTokenizer, &options));
        });
        // Each block's name needs the one before, so nothing can be faster than one after the
        // other.
        let block_bytes = 4 * tokens as usize;
        group.bench_function(format!("names alone, blocks of {tokens}"), |b| {
            b.iter(|| {
                let mut preimage = vec![0; 32 + block_bytes];
                for _ in 0..prompt_bytes / block_bytes {
                    let state = blake3::hash(black_box(&preimage));
                    preimage[..32].copy_from_slice(state.as_bytes());
                }
                preimage
            });
        });
    }
    group.finish();
}

/// Turns of about 500 tokens, 100,000 in all.
const TURNS: usize = 200;

fn turn(index: usize) -> Turn {
    let text = format!("{index}: {}", PLAIN.repeat(31));
    if index.is_multiple_of(2) {
        Turn::user(text).into()
    } else {
        Turn::assistant(text).into()
    }
}

/// A conversation that shares nothing with another one, so that no copy is measured.
fn apart(talk: &Conversation) -> Conversation {
    let mut talk = talk.clone();
    talk.push(Turn::assistant("Yes.")).unwrap();
    talk.sign().unwrap();
    talk
}

fn next_turn(c: &mut Criterion) {
    let hf = || {
        let json = tiny::tokenizer_json();
        // Without its cache, or the cold run would not be cold.
        HfTokenizer::from_json(json.as_bytes(), "tiny", SpecialTokens::Omitted)
            .unwrap()
            .cache_bytes(0)
    };
    let tokenizers: [(&str, Shared); 2] =
        [("bytes", Arc::new(BytesTokenizer)), ("bpe", Arc::new(hf()))];
    for (name, tokenizer) in tokenizers {
        let mut group = c.benchmark_group(format!("100,000 tokens, {name}"));
        group.sample_size(20);
        let chat = (0..=TURNS).fold(Chat::new().system("Be brief."), |chat, index| {
            chat.turn(turn(index))
        });
        let options = SignOptions::default();
        group.bench_function("cold", |b| {
            b.iter(|| chat.prompt().unwrap().sign(&tokenizer, &options));
        });
        let head = Prepared::new(
            Chat::new().system("Be brief."),
            Arc::clone(&tokenizer),
            options.clone(),
        );
        let mut talk = head.unwrap().conversation();
        for index in 0..TURNS {
            talk.push(turn(index)).unwrap();
        }
        talk.sign().unwrap();
        group.bench_function("next turn", |b| {
            let next = |mut talk: Conversation| {
                talk.push(turn(TURNS)).unwrap();
                let signed = talk.sign().unwrap();
                (talk, signed)
            };
            b.iter_batched(|| apart(&talk), next, BatchSize::PerIteration);
        });
        group.finish();
    }
}

criterion_group!(benches, cold, next_turn);
criterion_main!(benches);
