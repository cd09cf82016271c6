"""Signing beside `encode` and beside transformers: the same chat, in turns, medians of ratios.

usage: speed.py SPEED FOLDER ROUNDS, where FOLDER has qwen3.json and qwen3_config.json.
"""

import array
import hashlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from transformers import PreTrainedTokenizerFast

# Tokens of the chat, of one turn, and of a block.
TOKENS, TURN, BLOCK = 100_000, 500, 16


def words():
    """Prose and code: what this repository has of both, again and again, never the same twice."""
    root = pathlib.Path(__file__).resolve().parents[2]
    paths = sorted(root.glob("docs/*.md")) + sorted(root.glob("crates/*/src/**/*.rs")) + sorted(root.glob("crates/*/README.md"))
    for number in range(1000):
        for path in paths:
            for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
                yield f"{number} {line}" if line.strip() and number else line


def chat(tokenizer):
    lines, turns, total = words(), [], 0
    while total < TOKENS:
        text, tokens = "", 0
        while tokens < TURN:
            line = next(lines)
            tokens += len(tokenizer.encode(line, add_special_tokens=False))
            text += line
        turns.append(text)
        total += tokens
    # The last turn is the user's.
    if len(turns) % 2 == 0:
        turns.pop()
    return {"system": "You answer questions about this code.", "turns": turns[:-1] + [turns[-1]], "next": turns[0]}


def messages(file):
    roles = ["user", "assistant"]
    turns = [{"role": roles[i % 2], "content": text} for i, text in enumerate(file["turns"])]
    return [{"role": "system", "content": file["system"]}, *turns]


def in_python(tokenizer, conversation):
    start = time.perf_counter()
    ids = tokenizer.apply_chat_template(conversation, add_generation_prompt=True, return_dict=False)
    aligned = ids[: len(ids) // BLOCK * BLOCK]
    hashlib.sha256(array.array("I", aligned).tobytes()).hexdigest()
    return (time.perf_counter() - start) * 1e6, len(ids)


def main():
    speed, folder, rounds = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    config = json.loads((folder / "qwen3_config.json").read_text(encoding="utf-8"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "qwen3.json"), model_max_length=10**9)
    tokenizer.chat_template = config["chat_template"]
    file = chat(tokenizer)
    conversation = messages(file)
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as handle:
        json.dump(file, handle)
        handle.flush()
        server = subprocess.Popen([speed, str(folder / "qwen3.json"), handle.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def ask(what):
            server.stdin.write(what + "\n")
            server.stdin.flush()
            return [int(number) for number in server.stdout.readline().split()]

        rows = []
        for _ in range(rounds + 1):
            sign, rest, tokens = ask("sign")
            two, _, _ = ask("sign2")
            encode, _, _ = ask("encode")
            after, _, _ = ask("next")
            python, theirs = in_python(tokenizer, conversation)
            rows.append({"sign": sign, "rest": rest, "sign2": two, "encode": encode, "next": after, "python": python})
        server.stdin.close()
        server.wait()
    # The first round warms up.
    rows = rows[1:]
    text = sum(len(turn.encode()) for turn in file["turns"])
    print(f"{len(file['turns'])} turns, {text} bytes, {tokens} tokens here, {theirs} in Python, {rounds} rounds")
    for name, one, other in [
        ("all but tokenization / cold signing, one thread", "rest", "sign"),
        ("cold signing, two threads / encode", "sign2", "encode"),
        ("cold signing, one thread / transformers and SHA-256", "sign", "python"),
        ("cold signing, two threads / transformers and SHA-256", "sign2", "python"),
        ("next turn / cold signing, one thread", "next", "sign"),
    ]:
        ratios = sorted(row[one] / row[other] for row in rows)
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        print(f"{name:54} {statistics.median(ratios):.4f}  (middle half {low:.4f} to {high:.4f})")
    for name in rows[0]:
        print(f"  {name:8} median {statistics.median(row[name] for row in rows) / 1000:9.2f} ms")


if __name__ == "__main__":
    main()
