"""BLAKE3 in plain Python: hashing and key derivation, slow and readable."""

from __future__ import annotations

IV = [
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
    0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
]  # fmt: skip
PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]

BLOCK_BYTES = 64
CHUNK_BYTES = 1024

CHUNK_START = 1
CHUNK_END = 2
PARENT = 4
ROOT = 8
DERIVE_KEY_CONTEXT = 32
DERIVE_KEY_MATERIAL = 64

WORD = 0xFFFFFFFF


def blake3(message: bytes) -> bytes:
    """The 32-byte hash of a message."""
    return _tree(message, IV, 0)


def derive_key(context: str, material: bytes) -> bytes:
    """32 bytes derived from `material`, of no use under any other `context`."""
    key = _words(_tree(context.encode(), IV, DERIVE_KEY_CONTEXT))
    return _tree(material, key, DERIVE_KEY_MATERIAL)


def _tree(message: bytes, key: list[int], flags: int) -> bytes:
    """Hashes the tree over the message's chunks, and its root as such."""
    node = _subtree(message, 0, key, flags)
    words = _compress(*node[:4], node[4] | ROOT)[:8]
    return b"".join(word.to_bytes(4, "little") for word in words)


def _subtree(message: bytes, first_chunk: int, key: list[int], flags: int) -> tuple:
    """The last compression of a subtree, not yet done, because the root is marked in it."""
    if len(message) <= CHUNK_BYTES:
        return _chunk(message, first_chunk, key, flags)
    # The left side takes the largest power of two of chunks that leaves something on the right.
    left = CHUNK_BYTES
    while left * 2 < len(message):
        left *= 2
    both = []
    for part, chunk in ((message[:left], 0), (message[left:], left // CHUNK_BYTES)):
        both += _compress(*_subtree(part, first_chunk + chunk, key, flags))[:8]
    return key, both, 0, BLOCK_BYTES, flags | PARENT


def _chunk(chunk: bytes, number: int, key: list[int], flags: int) -> tuple:
    """The last compression of one chunk; the others are done."""
    blocks = [chunk[at : at + BLOCK_BYTES] for at in range(0, len(chunk), BLOCK_BYTES)] or [b""]
    state = key
    for index, block in enumerate(blocks):
        start = CHUNK_START if index == 0 else 0
        end = CHUNK_END if index == len(blocks) - 1 else 0
        words = _words(block.ljust(BLOCK_BYTES, b"\0"))
        step = (state, words, number, len(block), flags | start | end)
        if end:
            return step
        state = _compress(*step)[:8]
    raise AssertionError("a chunk has a last block")


def _compress(chaining: list[int], words: list[int], counter: int, length: int, flags: int) -> list[int]:
    state = chaining + IV[:4] + [counter & WORD, counter >> 32, length, flags]
    words = list(words)
    for _ in range(7):
        _round(state, words)
        words = [words[index] for index in PERMUTATION]
    return [state[i] ^ state[i + 8] for i in range(8)] + [state[i + 8] ^ chaining[i] for i in range(8)]


def _round(state: list[int], words: list[int]) -> None:
    columns = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    diagonals = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for index, places in enumerate(columns + diagonals):
        _mix(state, places, words[2 * index], words[2 * index + 1])


def _mix(state: list[int], places: tuple[int, int, int, int], x: int, y: int) -> None:
    a, b, c, d = places
    for word, d_turn, b_turn in ((x, 16, 12), (y, 8, 7)):
        state[a] = (state[a] + state[b] + word) & WORD
        state[d] = _rotate_right(state[d] ^ state[a], d_turn)
        state[c] = (state[c] + state[d]) & WORD
        state[b] = _rotate_right(state[b] ^ state[c], b_turn)


def _rotate_right(word: int, bits: int) -> int:
    return (word >> bits | word << (32 - bits)) & WORD


def _words(data: bytes) -> list[int]:
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]
