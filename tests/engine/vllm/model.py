"""Writes the folder of a tiny model: a real tokenizer and chat template, weights that are random.

Usage: model.py TOKENIZER_FOLDER MODEL_FOLDER

The weights are made by the engine when it loads the model. Its answers mean nothing, which does
not matter here: what is cached depends on tokens alone.
"""

import argparse
import json
import shutil
from pathlib import Path

HIDDEN, HEAD_DIM, LAYERS = 128, 32, 2
MAX_TOKENS = 8192


def config(tokenizer: dict, settings: dict) -> dict:
    """The smallest architecture of the tokenizer's own family."""
    ids = tokenizer["model"]["vocab"] | {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    heads = HIDDEN // HEAD_DIM
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": -(-(max(ids.values()) + 1) // 64) * 64,
        "hidden_size": HIDDEN,
        "intermediate_size": 2 * HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": heads,
        "num_key_value_heads": heads // 2,
        "head_dim": HEAD_DIM,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": 1_000_000.0,
        "max_position_embeddings": MAX_TOKENS,
        "attention_bias": False,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "eos_token_id": ids[settings["eos_token"]],
    }


def write_model(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = ("tokenizer.json", "tokenizer_config.json")
    for name in names:
        shutil.copyfile(source / name, folder / name)
    tokenizer, settings = (json.loads((source / name).read_text(encoding="utf-8")) for name in names)
    (folder / "config.json").write_text(json.dumps(config(tokenizer, settings), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("source", type=Path)
    arguments.add_argument("folder", type=Path)
    given = arguments.parse_args()
    write_model(given.source, given.folder)
