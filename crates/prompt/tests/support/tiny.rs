//! A `tokenizer.json` of a few hundred tokens, made on the spot: byte-level BPE with the markers
//! of ChatML, a start and an end token, and truncation and padding that must not be obeyed.

use serde_json::{Map, json};

/// The pairs that merge, in order. `Ġ` is a blank and `Ċ` a line end.
const MERGES: [[&str; 2]; 22] = [
    ["Ġ", "Ġ"],
    ["Ċ", "Ċ"],
    ["h", "e"],
    ["Ġ", "t"],
    ["Ġt", "he"],
    ["i", "n"],
    ["e", "r"],
    ["a", "n"],
    ["o", "n"],
    ["l", "l"],
    ["a", "b"],
    ["ab", "c"],
    ["ab", "ab"],
    ["c", "b"],
    ["Ġ", "a"],
    ["s", "t"],
    ["r", "y"],
    ["f", "er"],
    ["fer", "ry"],
    [".", "Ċ"],
    [":", "Ċ"],
    ["1", "2"],
];

pub(crate) fn tokenizer_json() -> String {
    let merged = MERGES.iter().map(|pair| pair.concat());
    let mut vocab = Map::new();
    for token in (0..=255).map(|byte| letter(byte).to_string()).chain(merged) {
        let id = vocab.len();
        vocab.insert(token, json!(id));
    }
    let first = vocab.len();
    let special = |place: usize, content: &str| {
        json!({"id": first + place, "content": content, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true})
    };
    let added = [
        special(0, "<|im_start|>"),
        special(1, "<|im_end|>"),
        special(2, "<s>"),
        special(3, "</s>"),
    ];
    let end =
        |place: usize, token: &str| json!({"id": token, "ids": [first + place], "tokens": [token]});
    json!({
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "!"},
        "added_tokens": added,
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": end(2, "<s>"), "</s>": end(3, "</s>")}},
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocab, "merges": MERGES},
    })
    .to_string()
}

/// The visible letter that stands for a byte in byte-level vocabularies: itself where it is
/// visible, else the next free one from U+0100 on.
pub(crate) fn letter(byte: u8) -> char {
    let visible = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if visible(byte) {
        return char::from(byte);
    }
    let hidden_before = (0..byte).filter(|before| !visible(*before));
    hidden_before.fold('\u{100}', |letter, _| {
        char::from_u32(u32::from(letter) + 1).unwrap_or(letter)
    })
}
