//! Small vocabularies of every model kind, with what makes real ones hard to cut: prefixes, byte
//! fallback, stripping and normalized special tokens, special tokens among the model's own pieces.

use serde_json::{Value, json};

/// A vocabulary, and what a test has to know about it.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) json: String,
    /// Control tokens, special or written like a tag.
    pub(crate) controls: &'static [&'static str],
    /// Its token for unknown characters.
    pub(crate) unknown: Option<&'static str>,
}

const CHAT: [&str; 3] = ["<|im_start|>", "<|im_end|>", "</s>"];

pub(crate) fn all() -> Vec<Kind> {
    let metaspace = |scheme: &str| json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true});
    let nested = json!({"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": true}, metaspace("first")]});
    let bert = json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true});
    let prepend = json!({"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]});
    let kind = |name, unknown, json: Value, controls| Kind {
        name,
        json: json.to_string(),
        controls,
        unknown,
    };
    let file = |model: Value, normalizer: Value, pre_tokenizer: Value, added: Vec<Value>| {
        json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": null, "decoder": null, "model": model})
    };
    let unigram = |pre| file(unigram(), json!({"type": "NFKC"}), pre, chat());
    vec![
        kind(
            "byte-level",
            None,
            byte_level(),
            &["<|im_start|>", "<|im_end|>", "</s>", "<think>"],
        ),
        kind(
            "byte-fallback",
            None,
            file(byte_fallback(), prepend, Value::Null, chat()),
            &CHAT,
        ),
        kind(
            "unigram-first",
            Some("<unk>"),
            unigram(metaspace("first")),
            &CHAT,
        ),
        kind(
            "unigram-always",
            Some("<unk>"),
            unigram(metaspace("always")),
            &CHAT,
        ),
        kind("unigram-nested", Some("<unk>"), unigram(nested), &CHAT),
        kind(
            "word-piece",
            Some("[UNK]"),
            file(
                word_piece(),
                bert,
                json!({"type": "BertPreTokenizer"}),
                brackets(),
            ),
            &["[CLS]", "[SEP]"],
        ),
        kind(
            "word-piece-blanks",
            Some("[UNK]"),
            file(
                word_piece(),
                Value::Null,
                json!({"type": "WhitespaceSplit"}),
                brackets(),
            ),
            &["[CLS]", "[SEP]"],
        ),
        kind(
            "odd",
            None,
            odd(),
            &["<|im_start|>", "<l>", "<r>", "<w>", "<n>"],
        ),
    ]
}

/// Added tokens as a file has them.
fn added(id: usize, content: &str, flags: &[&str]) -> Value {
    let has = |flag| flags.contains(&flag);
    json!({"id": id, "content": content, "single_word": has("single_word"), "lstrip": has("lstrip"),
        "rstrip": has("rstrip"), "normalized": has("normalized"), "special": has("special")})
}

/// Merges of the byte-level vocabulary, in order. `Ġ` is a blank and `Ċ` a line end.
const MERGES: [[&str; 2]; 20] = [
    ["Ġ", "Ġ"],
    ["ĠĠ", "Ġ"],
    ["ĠĠĠ", "Ċ"],
    ["Ġ", "Ċ"],
    ["Ċ", "Ċ"],
    ["ĊĊ", "Ċ"],
    [".", "ĊĊ"],
    [".", "Ċ"],
    [":", "ĊĊ"],
    [":", "Ċ"],
    [":", ":"],
    ["Ġ", "h"],
    ["Ġh", "i"],
    ["t", "a"],
    ["Ġ", "t"],
    ["h", "e"],
    ["Ġt", "he"],
    ["e", "r"],
    ["r", "y"],
    ["Ġ", "a"],
];

/// Words with the blank before them, punctuation with the line ends behind it, single digits,
/// runs of blanks less the last one before a word: the shape of most current vocabularies.
const SPLIT: &str = r" ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

fn byte_level_file(first_added: Vec<(&str, &[&str])>, normalizer: Value) -> Value {
    let mut vocab = serde_json::Map::new();
    let bytes = (0..=255).map(|byte| super::tiny::letter(byte).to_string());
    for token in bytes.chain(MERGES.iter().map(|pair| pair.concat())) {
        let id = vocab.len();
        vocab.insert(token, json!(id));
    }
    let first = vocab.len();
    let added: Vec<Value> = first_added
        .iter()
        .enumerate()
        .map(|(place, (content, flags))| added(first + place, content, flags))
        .collect();
    json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}]},
        "post_processor": null, "decoder": null,
        "model": {"type": "BPE", "dropout": 0.5, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
            "fuse_unk": false, "byte_fallback": false, "ignore_merges": true, "vocab": vocab, "merges": MERGES}})
}

/// With NFC, a tag that is not called special, and a run of line ends as an added token.
/// Its dropout must not be obeyed.
pub(crate) fn byte_level() -> Value {
    let special: &[&str] = &["special"];
    let added = vec![
        (CHAT[0], special),
        (CHAT[1], special),
        (CHAT[2], special),
        ("<think>", &[]),
        ("\n\n\n\n", &[]),
    ];
    byte_level_file(added, json!({"type": "NFC"}))
}

/// Special tokens that look beyond themselves.
fn odd() -> Value {
    let added: Vec<(&str, &[&str])> = vec![
        (CHAT[0], &["special"]),
        ("<l>", &["special", "lstrip"]),
        ("<r>", &["special", "rstrip"]),
        ("<w>", &["special", "single_word"]),
        ("<n>", &["special", "normalized"]),
    ];
    byte_level_file(added, json!({"type": "NFC"}))
}

fn chat() -> Vec<Value> {
    // The model has the last one among its own pieces.
    let ids = [1, 2, 3];
    let all = ids.into_iter().zip(CHAT);
    all.map(|(id, content)| added(id, content, &["special"]))
        .collect()
}

fn brackets() -> Vec<Value> {
    let all = ["[UNK]", "[CLS]", "[SEP]"].into_iter().enumerate();
    all.map(|(id, content)| added(id, content, &["special"]))
        .collect()
}

fn unigram() -> Value {
    let pieces = [
        "▁", "▁the", "▁ferry", "the", "fer", "ry", "t", "h", "e", "a", "b", "f", "r", "y", "1",
        "2", ".", ":", "<", ">", "/", "s", "|", "im", "_", "start", "end", "\n", "的", "▁<", "/s",
        "i", "m", "d", "n",
    ];
    let control = ["<unk>", CHAT[0], CHAT[1], CHAT[2]].map(|piece| (piece.to_owned(), 0.0));
    let scored = (0..)
        .zip(pieces)
        .map(|(place, piece)| (piece.to_owned(), -2.0 - f64::from(place) / 10.0));
    let vocab: Vec<(String, f64)> = control.into_iter().chain(scored).collect();
    json!({"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": false})
}

fn byte_fallback() -> Value {
    let mut vocab = serde_json::Map::new();
    let letters = "▁thefryab12.:<>/s|im_\nnd".chars().map(String::from);
    let merges = [
        ["▁", "t"],
        ["h", "e"],
        ["▁t", "he"],
        ["f", "e"],
        ["r", "y"],
        ["▁", "▁"],
        ["a", "b"],
        ["\n", "\n"],
    ];
    let tokens = ["<unk>", CHAT[0], CHAT[1], CHAT[2]]
        .map(String::from)
        .into_iter();
    let bytes = (0..=255).map(|byte: u8| format!("<0x{byte:02X}>"));
    let all = tokens
        .chain(bytes)
        .chain(letters)
        .chain(merges.iter().map(|pair| pair.concat()));
    for token in all {
        let id = vocab.len();
        vocab.entry(token).or_insert(json!(id));
    }
    json!({"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null, "end_of_word_suffix": null,
        "fuse_unk": true, "byte_fallback": true, "ignore_merges": false, "vocab": vocab, "merges": merges})
}

fn word_piece() -> Value {
    let words = [
        "[UNK]", "[CLS]", "[SEP]", "the", "fer", "##ry", "t", "##h", "##e", "a", "b", "##b", "1",
        "2", "##2", ".", ":", "[", "]", "cls", "的",
    ];
    let vocab: serde_json::Map<_, _> = words
        .iter()
        .enumerate()
        .map(|(id, word)| ((*word).to_owned(), json!(id)))
        .collect();
    json!({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 20, "vocab": vocab})
}
