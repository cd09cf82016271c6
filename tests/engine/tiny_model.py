"""Writes a tiny random-weight model that llama.cpp can serve: real layers, real tokenizer, no meaning.

Usage: tiny_model.py OUT.gguf

The vocabulary is byte-level BPE made here: 256 byte tokens, some merges so that tokens cross
words as they do in life, and the two markers of chat messages. Nothing is downloaded.
"""

import argparse
from pathlib import Path

import gguf
import numpy as np

LAYERS, HIDDEN, FEED_FORWARD = 2, 64, 128
HEADS, KV_HEADS, HEAD_DIM = 4, 2, 16
MAX_TOKENS = 8192
# The borders of chat messages are tokens of their own, as in the vocabularies of chat models.
MARKERS = ["<|im_start|>", "<|im_end|>"]

# Pairs in the order in which BPE may join them; "Ġ" is the byte-level spelling of a space.
MERGES = """
Ġ t|h e|Ġ a|i n|Ġt he|e r|o n|r e|Ġ s|a t|e n|o r|Ġ o|Ġ w|e s|Ġ c|i s|i t|a n|in g|o u|e d|Ġ f
Ġ b|a l|Ġ p|Ġo f|Ġ in|a r|Ġ m|Ġt o|Ġ d|Ġa n|Ġan d|i c|l e|Ġ h|o m|Ġ re|v e|l l|s e|Ġ n|r o|i d
"""


def byte_characters() -> list[str]:
    """The printable character that byte-level BPE writes for each of the 256 bytes."""
    shown = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    table = {byte: chr(byte) for byte in shown}
    table |= {byte: chr(256 + n) for n, byte in enumerate(hidden)}
    return [table[byte] for byte in range(256)]


def vocabulary() -> tuple[list[str], list[str]]:
    """All tokens, the markers last, and the merges that make the long ones."""
    merges = [pair for line in MERGES.split("\n") for pair in line.split("|") if pair]
    return [*byte_characters(), *(pair.replace(" ", "") for pair in merges), *MARKERS], merges


def write_header(out: gguf.GGUFWriter, tokens: list[str], merges: list[str]) -> None:
    out.add_name("tiny-random")
    out.add_context_length(MAX_TOKENS)
    out.add_embedding_length(HIDDEN)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(FEED_FORWARD)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_key_length(HEAD_DIM)
    out.add_value_length(HEAD_DIM)
    out.add_layer_norm_rms_eps(1e-6)
    out.add_rope_freq_base(10_000.0)
    out.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    normal, control = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(tokens)
    out.add_token_types([control if token in MARKERS else normal for token in tokens])
    out.add_token_merges(merges)
    out.add_eos_token_id(tokens.index(MARKERS[-1]))
    out.add_add_bos_token(False)


def add_weights(out: gguf.GGUFWriter, tokens: int) -> None:
    """Llama-shaped layers; a fixed seed, so that every run serves the same model."""
    dice = np.random.default_rng(20_261)

    def random(*shape: int) -> np.ndarray:
        return (dice.standard_normal(shape, dtype=np.float32) * 0.05).astype(np.float16)

    ones = np.ones(HIDDEN, dtype=np.float32)
    query, kv = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
    out.add_tensor("token_embd.weight", random(tokens, HIDDEN))
    out.add_tensor("output_norm.weight", ones)
    for layer in range(LAYERS):
        shapes = {
            "attn_norm": ones,
            "attn_q": random(query, HIDDEN),
            "attn_k": random(kv, HIDDEN),
            "attn_v": random(kv, HIDDEN),
            "attn_output": random(HIDDEN, query),
            "ffn_norm": ones,
            "ffn_gate": random(FEED_FORWARD, HIDDEN),
            "ffn_up": random(FEED_FORWARD, HIDDEN),
            "ffn_down": random(HIDDEN, FEED_FORWARD),
        }
        for name, tensor in shapes.items():
            out.add_tensor(f"blk.{layer}.{name}.weight", tensor)


def write_model(path: Path) -> None:
    tokens, merges = vocabulary()
    out = gguf.GGUFWriter(path, "llama")
    write_header(out, tokens, merges)
    add_weights(out, len(tokens))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("out", type=Path)
    write_model(arguments.parse_args().out)
