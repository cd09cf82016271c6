#!/usr/bin/env python3
"""Writes signature.json, the test vectors of the wire format, from a reference implementation.

    python3 reference.py            writes signature.json
    python3 reference.py --check    fails if signature.json is not what would be written
    python3 reference.py --example  prints the numbers of the worked example in the README

The standard library is all it needs. It follows the text of crates/signature/README.md step by
step and shares nothing with the Rust crate, which is checked against the vectors.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cases
from blake3_reference import blake3, derive_key
from header_reference import Refused, read_route, read_signature, write_route, write_signature

VECTORS = Path(__file__).with_name("signature.json")
SIGNATURE = "headwater prefix signature v1 "
AFFINITY = "headwater prefix affinity v1 "


def seed_preimage(scheme: dict) -> bytes:
    salt = scheme["salt"]
    return b"".join(
        [
            u32(1),
            *(with_length(scheme[field].encode()) for field in ("tokenizer", "template", "cleaning")),
            u32(scheme["block"]),
            bytes([scheme["add_special_tokens"]]),
            with_length(scheme["model"].encode()),
            bytes([salt is not None]),
            with_length(bytes.fromhex(salt or "")),
        ]
    )


def seed(scheme: dict) -> bytes:
    return derive_key(SIGNATURE + "seed", seed_preimage(scheme))


def fingerprint(secret: bytes) -> bytes:
    return derive_key(SIGNATURE + "fingerprint", secret)[:8]


def chain_states(secret: bytes, block: int, tokens: list[int]) -> list[bytes]:
    """The state before the first block, and after each whole block."""
    states = [derive_key(SIGNATURE + "chain", secret)]
    for start in range(0, len(tokens) - block + 1, block):
        states.append(blake3(states[-1] + b"".join(map(u32, tokens[start : start + block]))))
    return states


def session_key(secret: bytes, session: str) -> bytes:
    return derive_key(AFFINITY + "session", secret + session.encode())[:12]


def prefix_key(prefix_hash: bytes) -> bytes:
    return derive_key(AFFINITY + "prefix", prefix_hash)[:12]


def spread_key(static_hash: bytes, conversation: bytes, ways: int) -> bytes:
    slot = int.from_bytes(conversation[:8], "little") % ways
    return derive_key(AFFINITY + "spread", static_hash + u64(slot))[:12]


def route_tag(worker: str, generation: int) -> bytes:
    return derive_key("headwater prefix route v1 tag", with_length(worker.encode()) + u64(generation))[:4]


def u32(number: int) -> bytes:
    return number.to_bytes(4, "little")


def u64(number: int) -> bytes:
    return number.to_bytes(8, "little")


def with_length(content: bytes) -> bytes:
    return u64(len(content)) + content


def blake3_vectors() -> list[dict]:
    """Around every border of the tree: empty, a block, a chunk, two and three chunks."""
    vectors = []
    for length in (0, 1, 63, 64, 65, 1023, 1024, 1025, 2048, 2049, 3072, 3073, 5000):
        message = bytes(at % 251 for at in range(length))
        vectors.append(
            {"length": length, "hash": blake3(message).hex(), "derived": derive_key("vectors", message).hex()}
        )
    return vectors


def chain_vectors() -> list[dict]:
    vectors = []
    for name, scheme, tokens in cases.chains():
        secret = seed(scheme)
        states = chain_states(secret, scheme["block"], tokens)
        vectors.append(
            {
                "name": name,
                "scheme": scheme,
                "seed": secret.hex(),
                "fingerprint": fingerprint(secret).hex(),
                "tokens": tokens,
                "start": states[0].hex(),
                "hashes": [state[:8].hex() for state in states[1:]],
            }
        )
    return vectors


def affinity_vectors() -> list[dict]:
    vectors = []
    for name, scheme, session, static_hash, ways in cases.affinities():
        by_session = session_key(seed(scheme), session)
        by_prefix = prefix_key(bytes.fromhex(static_hash))
        vectors.append(
            {
                "name": name,
                "scheme": scheme,
                "session": session,
                "static": static_hash,
                "ways": ways,
                "by_session": url_letters(by_session),
                "by_prefix": url_letters(by_prefix),
                "by_spread": url_letters(spread_key(bytes.fromhex(static_hash), by_session, ways)),
            }
        )
    return vectors


def url_letters(content: bytes) -> str:
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(content).decode().rstrip("=")


def tag_vectors() -> list[dict]:
    # The generation is text because not every JSON reader keeps 64 bits.
    return [
        {"worker": worker, "generation": str(generation), "tag": route_tag(worker, generation).hex()}
        for worker, generation in cases.workers()
    ]


def header_vector(name: str, text: str, read, write, key: str) -> dict:
    vector: dict = {"name": name, "text": text}
    try:
        value = read(text.encode("latin-1"))
    except Refused as refused:
        return vector | {"error": {"at": refused.at, "kind": refused.kind}}
    if value is None:
        return vector | {"unknown_version": True}
    return vector | {key: value, "canonical": write(value)}


def signature_vectors() -> list[dict]:
    return [
        header_vector(name, text, read_signature, write_signature, "signature")
        for name, text in cases.signatures()
    ]


def route_vectors() -> list[dict]:
    return [header_vector(name, text, read_route, write_route, "route") for name, text in cases.routes()]


def route_text_vectors() -> list[dict]:
    return [route | {"canonical": write_route(route)} for route in cases.route_values()]


def vectors() -> dict:
    return {
        "about": "Made by reference.py; do not edit. In `text` of a header each character is one byte.",
        "blake3": blake3_vectors(),
        "chains": chain_vectors(),
        "affinity_keys": affinity_vectors(),
        "route_tags": tag_vectors(),
        "signatures": signature_vectors(),
        "routes": route_vectors(),
        "route_texts": route_text_vectors(),
    }


def as_text() -> str:
    """One vector a line, so that a change shows as one line."""
    parts = []
    for key, value in vectors().items():
        if isinstance(value, list):
            rows = ",\n".join("    " + json.dumps(row) for row in value)
            parts.append(f"  {json.dumps(key)}: [\n{rows}\n  ]")
        else:
            parts.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def example() -> str:
    """The lines of the README's worked example."""
    scheme, tokens = cases.EXAMPLE_SCHEME, cases.EXAMPLE_TOKENS
    secret = seed(scheme)
    states = chain_states(secret, scheme["block"], tokens)
    lines = {"seed preimage": seed_preimage(scheme).hex(), "seed": secret.hex()}
    lines["fingerprint"] = fingerprint(secret).hex()
    lines["state 0"] = states[0].hex()
    for index, state in enumerate(states[1:]):
        block = tokens[index * scheme["block"] : (index + 1) * scheme["block"]]
        lines[f"block {index}"] = b"".join(map(u32, block)).hex()
        lines[f"preimage {index}"] = lines[f"state {index}"] + lines[f"block {index}"]
        lines[f"state {index + 1}"] = state.hex()
        lines[f"hash {index + 1}"] = state[:8].hex()
    rungs = [{"blocks": index, "hash": lines[f"hash {index}"]} for index in (1, 2)]
    value = {"block": scheme["block"], "tokens": len(tokens), "fingerprint": lines["fingerprint"], "rungs": rungs, "echo": None}
    lines["Prefix-Signature"] = write_signature(value)
    lines["Prefix-Affinity"] = url_letters(session_key(secret, cases.EXAMPLE_SESSION))
    return "".join(f"{key}: {value}\n" for key, value in lines.items())


def main(arguments: list[str]) -> int:
    if arguments == ["--example"]:
        print(example(), end="")
    elif arguments == ["--check"]:
        if VECTORS.read_text(encoding="utf-8") != as_text():
            print(f"{VECTORS.name} is not what reference.py writes; run `python3 {sys.argv[0]}`", file=sys.stderr)
            return 1
    elif not arguments:
        VECTORS.write_text(as_text(), encoding="utf-8")
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
