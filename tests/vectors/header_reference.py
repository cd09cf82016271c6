"""Reads and writes the three headers as crates/signature/README.md says, slow and readable.

First the whole header is read as an RFC 9651 dictionary (`Reader`), into a list of members.
Then the members get their meaning (`read_signature`, `read_route`).
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

MAX_BYTES, MAX_KEYS, MAX_RUNGS, MAX_BLOCK, MAX_U32 = 1024, 32, 16, 65_536, 2**32 - 1


class Refused(Exception):
    """A header is refused as a whole, because of the byte `at`."""

    def __init__(self, at: int, kind: str):
        super().__init__(f"byte {at}: {kind}")
        self.at, self.kind = at, kind


@dataclass
class Value:
    """A value, where it starts, its type, and the parameters as (key, key's place, value)."""

    at: int
    type: str
    value: object = None
    parameters: tuple = ()


@dataclass
class Reader:
    """Reads text byte by byte; `at` is the next one."""

    text: bytes
    at: int = 0

    def fail(self) -> Refused:
        return Refused(self.at, "syntax")

    def peek(self) -> str:
        return chr(self.text[self.at]) if self.at < len(self.text) else ""

    def eat(self, char: str) -> bool:
        found = self.peek() == char
        self.at += found
        return found

    def expect(self, char: str) -> None:
        if not self.eat(char):
            raise self.fail()

    def take(self, letters: str) -> str:
        """The longest run of bytes in the class `letters` of a regular expression."""
        found = re.compile(f"[{letters}]*".encode()).match(self.text, self.at).group()
        self.at += len(found)
        return found.decode()

    def dictionary(self) -> list[tuple[str, Value]]:
        if len(self.text) > MAX_BYTES:
            raise Refused(MAX_BYTES, "too_long")
        members: list[tuple[str, Value]] = []
        self.take(" ")
        while self.peek():
            start = self.at
            key = self.key()
            if key in [known for known, _ in members]:
                raise Refused(start, "duplicate_key")
            if len(members) == MAX_KEYS:
                raise Refused(start, "too_many_keys")
            members.append((key, self.member_value(start)))
            self.take(" \t")
            if self.peek():
                self.expect(",")
                self.take(" \t")
                if not self.peek():
                    raise self.fail()
        return members

    def member_value(self, key_at: int) -> Value:
        if not self.eat("="):
            return Value(key_at, "boolean", True, self.parameters())
        return self.inner_list() if self.peek() == "(" else self.item()

    def inner_list(self) -> Value:
        start = self.at
        self.expect("(")
        items = []
        while True:
            self.take(" ")
            if self.eat(")"):
                return Value(start, "list", items, self.parameters())
            items.append(self.item())
            if self.peek() not in (" ", ")") or not self.peek():
                raise self.fail()

    def item(self) -> Value:
        value = self.bare_item()
        value.parameters = self.parameters()
        return value

    def parameters(self) -> tuple:
        found = []
        while self.eat(";"):
            self.take(" ")
            start = self.at
            key = self.key()
            found.append((key, start, self.bare_item() if self.eat("=") else Value(start, "boolean", True)))
        return tuple(found)

    def key(self) -> str:
        if not re.match("[a-z*]", self.peek()):
            raise self.fail()
        return self.take(r"a-z0-9_\-.*")

    def bare_item(self) -> Value:
        start, first = self.at, self.peek()
        if re.match("[-0-9]", first):
            return self.number()
        if re.match("[A-Za-z*]", first):
            return Value(start, "token", self.take(r"A-Za-z0-9!#$%&'*+\-.^_`|~:/"))
        readers = {":": self.bytes, '"': self.string, "?": self.boolean, "@": self.date, "%": self.display_string}
        if first not in readers:
            raise self.fail()
        self.at += 1
        return Value(start, *readers[first]())

    def number(self) -> Value:
        start = self.at
        sign = -1 if self.eat("-") else 1
        whole = self.digits(15)
        if self.peek() != ".":
            return Value(start, "integer", sign * int(whole))
        if len(whole) > 12:
            raise self.fail()
        self.at += 1
        return Value(start, "decimal", f"{sign * int(whole)}.{self.digits(3)}")

    def digits(self, most: int) -> str:
        start = self.at
        digits = self.take("0-9")
        if not digits or len(digits) > most:
            self.at = start + min(len(digits), most)
            raise self.fail()
        return digits

    def bytes(self) -> tuple:
        start = self.at
        letters = len(self.take("A-Za-z0-9+/"))
        if letters % 4 == 1:
            raise self.fail()
        for _ in range(-letters % 4):
            self.eat("=")
        text = self.text[start : self.at]
        self.expect(":")
        return "bytes", text

    def string(self) -> tuple:
        while not self.eat('"'):
            if self.eat("\\"):
                if self.peek() not in ('"', "\\") or not self.peek():
                    raise self.fail()
            elif not " " <= self.peek() <= "~":
                raise self.fail()
            self.at += 1
        return ("string",)

    def boolean(self) -> tuple:
        if self.peek() not in ("0", "1") or not self.peek():
            raise self.fail()
        self.at += 1
        return ("boolean",)

    def date(self) -> tuple:
        self.eat("-")
        self.digits(15)
        if self.peek() == ".":
            raise self.fail()
        return ("date",)

    def display_string(self) -> tuple:
        start, content = self.at - 1, bytearray()
        self.expect('"')
        while not self.eat('"'):
            if self.eat("%"):
                digits = ""
                for _ in range(2):
                    if not re.match("[0-9a-f]", self.peek()):
                        raise self.fail()
                    digits += self.peek()
                    self.at += 1
                content.append(int(digits, 16))
            elif " " <= self.peek() <= "~":
                content += self.peek().encode()
                self.at += 1
            else:
                raise self.fail()
        try:
            content.decode()
        except UnicodeDecodeError:
            raise Refused(start, "syntax") from None
        return ("display_string",)


def read_signature(text: bytes) -> dict | None:
    """The signature in a header; None if its version is unknown."""
    found = dict(Reader(text).dictionary())
    if "v" not in found:
        raise Refused(len(text), "missing_key")
    if integer(found["v"]) != 1:
        return None
    # The first wrong value in the order of the header, then keys that miss, then what rests on two.
    read = {"b": block, "n": number, "fp": name(8), "r": rungs, "w": name(4), "wn": number}
    meaning = {key: read[key](value) for key, value in found.items() if key in read}
    for key in ("b", "n", "fp", "r"):
        if key not in meaning:
            raise Refused(len(text), "missing_key")
    if meaning["r"]:
        last_at, last = meaning["r"][-1]
        if last["blocks"] * meaning["b"] > (meaning["n"] or MAX_U32):
            raise Refused(last_at, "rung_beyond_prompt")
    if ("w" in meaning) != ("wn" in meaning):
        raise Refused(found["w" if "w" in meaning else "wn"].at, "half_echo")
    return {
        "block": meaning["b"],
        "tokens": meaning["n"],
        "fingerprint": meaning["fp"].hex(),
        "rungs": [rung for _, rung in meaning["r"]],
        "echo": {"tag": meaning["w"].hex(), "tokens": meaning["wn"]} if "w" in meaning else None,
    }


def read_route(text: bytes) -> dict:
    """The route in a response header."""
    found = dict(Reader(text).dictionary())
    read = {"w": name(4), "matched": number, "reason": token}
    meaning = {key: read[key](value) for key, value in found.items() if key in read}
    if len(meaning) != len(read):
        raise Refused(len(text), "missing_key")
    return {"worker": meaning["w"].hex(), "matched_tokens": meaning["matched"], "reason": meaning["reason"]}


def integer(value: Value) -> int:
    return typed(value, "integer")


def typed(value: Value, wanted: str):
    if value.type != wanted:
        raise Refused(value.at, "wrong_type")
    return value.value


def in_range(value: Value, low: int, high: int) -> int:
    if not low <= integer(value) <= high:
        raise Refused(value.at, "out_of_range")
    return value.value


def number(value: Value) -> int:
    return in_range(value, 0, MAX_U32)


def block(value: Value) -> int:
    return in_range(value, 1, MAX_BLOCK)


def token(value: Value) -> str:
    return typed(value, "token")


def name(length: int):
    def read(value: Value) -> bytes:
        text = typed(value, "bytes")
        content = base64.b64decode(text + b"=" * (-len(text) % 4))
        if len(content) != length or base64.b64encode(content) != text:
            raise Refused(value.at, "wrong_bytes")
        return content

    return read


def rungs(value: Value) -> list[tuple[int, dict]]:
    found: list[tuple[int, dict]] = []
    for item in typed(value, "list"):
        if len(found) == MAX_RUNGS:
            raise Refused(item.at, "too_many_rungs")
        blocks = in_range(item, 1, MAX_U32)
        if found and blocks <= found[-1][1]["blocks"]:
            raise Refused(item.at, "rung_order")
        hashes = [(key_at, hash_value) for key, key_at, hash_value in item.parameters if key == "h"]
        if not hashes:
            raise Refused(item.at, "missing_key")
        if len(hashes) > 1:
            raise Refused(hashes[1][0], "duplicate_key")
        prefix_hash = name(8)(hashes[0][1])
        found.append((item.at, {"blocks": blocks, "hash": prefix_hash.hex()}))
    return found


def write_signature(signature: dict) -> str:
    """The canonical header text."""
    ladder = " ".join(f"{rung['blocks']};h={base64_item(rung['hash'])}" for rung in signature["rungs"])
    text = f"v=1, b={signature['block']}, n={signature['tokens']}, fp={base64_item(signature['fingerprint'])}, r=({ladder})"
    if echo := signature["echo"]:
        text += f", w={base64_item(echo['tag'])}, wn={echo['tokens']}"
    return text


def write_route(route: dict) -> str:
    """The canonical header text; a reason that is no token is made one."""
    reason = route["reason"] or "*"
    first = reason[0] if re.fullmatch("[A-Za-z*]", reason[0]) else "*"
    rest = re.sub(r"[^A-Za-z0-9!#$%&'*+\-.^_`|~:/]", "_", reason[1:])
    return f"w={base64_item(route['worker'])}, matched={route['matched_tokens']}, reason={first}{rest}"


def base64_item(hexadecimal: str) -> str:
    return f":{base64.b64encode(bytes.fromhex(hexadecimal)).decode()}:"
