"""The inputs of the test vectors. What must come out is the reference's business."""

from __future__ import annotations

EXAMPLE_SCHEME = {
    "tokenizer": "bytes",
    "template": "none",
    "cleaning": "1",
    "block": 3,
    "add_special_tokens": False,
    "model": "demo",
    "salt": b"0123456789abcdef".hex(),
}
EXAMPLE_TOKENS = [1, 2, 3, 258, 65_536, 4_294_967_295, 7]
EXAMPLE_SESSION = "chat-42"


def scheme(**changes) -> dict:
    return EXAMPLE_SCHEME | changes


def chains() -> list[tuple[str, dict, list[int]]]:
    prompt = [(at * 2_654_435_761) % 2**32 for at in range(70)]
    changed = prompt[:20] + [prompt[20] ^ 1] + prompt[21:]
    sixteen = scheme(block=16)
    return [
        ("worked example", EXAMPLE_SCHEME, EXAMPLE_TOKENS),
        ("no token", EXAMPLE_SCHEME, []),
        ("one token short of a block", sixteen, prompt[:15]),
        ("one block exactly", sixteen, prompt[:16]),
        ("one token over a block", sixteen, prompt[:17]),
        ("four blocks and a tail", sixteen, prompt),
        ("one token of the second block changed", sixteen, changed),
        ("smallest block", scheme(block=1), prompt[:4]),
        ("largest block", scheme(block=65_536), prompt[:4]),
        ("preimage over a chunk", scheme(block=256), [at % 7 for at in range(520)]),
        ("no salt", scheme(salt=None), EXAMPLE_TOKENS),
        ("empty salt is not no salt", scheme(salt=""), EXAMPLE_TOKENS),
        ("another salt", scheme(salt=b"0123456789abcdeg".hex()), EXAMPLE_TOKENS),
        ("long salt", scheme(salt=bytes(range(256)).hex()), EXAMPLE_TOKENS),
        ("another tokenizer", scheme(tokenizer="bytes2"), EXAMPLE_TOKENS),
        ("another template", scheme(template="chat@2"), EXAMPLE_TOKENS),
        ("another cleaning", scheme(cleaning="2"), EXAMPLE_TOKENS),
        ("special tokens added", scheme(add_special_tokens=True), EXAMPLE_TOKENS),
        ("another model", scheme(model="demo+lora"), EXAMPLE_TOKENS),
        ("text beyond ASCII", scheme(model="modèle-模型"), EXAMPLE_TOKENS),
        ("letters moved between fields", scheme(tokenizer="bytesn", template="one"), EXAMPLE_TOKENS),
        ("empty fields", scheme(tokenizer="", template="", cleaning="", model=""), EXAMPLE_TOKENS),
        ("field over a chunk", scheme(tokenizer="t" * 3000), EXAMPLE_TOKENS),
    ]


def affinities() -> list[tuple[str, dict, str, str, int]]:
    static = "00112233445566ff"
    return [
        ("worked example", EXAMPLE_SCHEME, EXAMPLE_SESSION, static, 4),
        ("empty session id", EXAMPLE_SCHEME, "", static, 1),
        ("session id beyond ASCII", EXAMPLE_SCHEME, "sitzung-ä-会话", static, 3),
        ("another salt", scheme(salt=None), EXAMPLE_SESSION, static, 4),
        ("another static prefix", EXAMPLE_SCHEME, EXAMPLE_SESSION, "ffffffffffffffff", 4_294_967_295),
    ]


def workers() -> list[tuple[str, int]]:
    return [("worker-1", 0), ("worker-1", 1), ("worker-10", 0), ("", 0), ("http://10.0.0.1:8000", 2**64 - 1)]


HASHES = [f":{letter * 10}A=:" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
HEAD = "v=1, b=16, n=2461, fp=:q83vASNFZ4k=:"
GOOD = f"{HEAD}, r=(64;h={HASHES[0]} 150;h={HASHES[1]})"
ECHO = ", w=:b2xkLg==:, wn=2461"
FREE = "v=1, b=16, n=0, fp=:q83vASNFZ4k=:"


def ladder(count: int, first: int = 1) -> str:
    return " ".join(f"{first + at};h={HASHES[at % 26]}" for at in range(count))


def extended(value: str) -> str:
    return f"{GOOD}, x={value}"


def padded_to(length: int) -> str:
    start = f'{GOOD}, x="'
    return start + "y" * (length - len(start) - 1) + '"'


def signatures() -> list[tuple[str, str]]:
    return good_signatures() + limits() + other_versions() + ignored_values() + refused() + broken()


def good_signatures() -> list[tuple[str, str]]:
    return [
        ("canonical", GOOD),
        ("with echo", GOOD + ECHO),
        ("no rung", f"{HEAD}, r=()"),
        ("length unknown", f"{FREE}, r=({ladder(1)})"),
        ("twelve rungs", f"{HEAD}, r=({ladder(12)})"),
        ("any order of keys", f"wn=1,r=( 9;h={HASHES[2]}  ),w=:AAAAAA==:,fp=:q83vASNFZ4k=:,n=144,b=16,v=1"),
        ("white space", f"  v=1 \t,\t b=16,n=2461 , fp=:q83vASNFZ4k=:,r=(  64;  h={HASHES[0]}   )\t "),
        ("leading zeros", f"v=001, b=016, n=000, fp=:q83vASNFZ4k=:, r=(01;h={HASHES[0]})"),
        ("minus zero tokens", f"v=1, b=16, n=-0, fp=:q83vASNFZ4k=:, r=()"),
        ("parameters on known keys", f"v=1;a, b=16;a=1.5, n=2461;b;c, fp=:q83vASNFZ4k=:;x=y, r=(64;h={HASHES[0]});p=?0"),
        ("unknown parameters on a rung", f"{HEAD}, r=(64;z;h={HASHES[0]};a=2;z=3)"),
        ("echo of more tokens than the prompt has", f"{GOOD}, w=:AAAAAA==:, wn=9999"),
    ]


def limits() -> list[tuple[str, str]]:
    return [
        ("1024 bytes", padded_to(1024)),
        ("1025 bytes", padded_to(1025)),
        ("16 rungs", f"{HEAD}, r=({ladder(16)})"),
        ("17 rungs", f"{HEAD}, r=({ladder(17)})"),
        ("32 keys", GOOD + "".join(f", k{at}" for at in range(27))),
        ("33 keys", GOOD + "".join(f", k{at}" for at in range(28))),
        ("block 0", f"v=1, b=0, n=1, fp=:q83vASNFZ4k=:, r=()"),
        ("block 1", f"v=1, b=1, n=1, fp=:q83vASNFZ4k=:, r=(1;h={HASHES[0]})"),
        ("block 65536", f"v=1, b=65536, n=65536, fp=:q83vASNFZ4k=:, r=(1;h={HASHES[0]})"),
        ("block 65537", "v=1, b=65537, n=1, fp=:q83vASNFZ4k=:, r=()"),
        ("block -1", "v=1, b=-1, n=1, fp=:q83vASNFZ4k=:, r=()"),
        ("most tokens", "v=1, b=16, n=4294967295, fp=:q83vASNFZ4k=:, r=()"),
        ("a token too many", "v=1, b=16, n=4294967296, fp=:q83vASNFZ4k=:, r=()"),
        ("fewer than no tokens", "v=1, b=16, n=-1, fp=:q83vASNFZ4k=:, r=()"),
        ("rung at the prompt's end", f"v=1, b=16, n=160, fp=:q83vASNFZ4k=:, r=(10;h={HASHES[0]})"),
        ("rung beyond the prompt", f"v=1, b=16, n=159, fp=:q83vASNFZ4k=:, r=(9;h={HASHES[0]} 10;h={HASHES[1]})"),
        ("deepest rung of an unknown prompt", f"{FREE}, r=(268435455;h={HASHES[0]})"),
        ("too deep even for an unknown prompt", f"{FREE}, r=(268435456;h={HASHES[0]})"),
        ("rung 0", f"{HEAD}, r=(0;h={HASHES[0]})"),
        ("rung of 32 bits", f"v=1, b=1, n=0, fp=:q83vASNFZ4k=:, r=(4294967295;h={HASHES[0]})"),
        ("rung over 32 bits", f"v=1, b=1, n=0, fp=:q83vASNFZ4k=:, r=(4294967296;h={HASHES[0]})"),
        ("echo of most tokens", f"{GOOD}, w=:AAAAAA==:, wn=4294967295"),
        ("echo of a token too many", f"{GOOD}, w=:AAAAAA==:, wn=4294967296"),
        ("integer of 15 digits", extended("999999999999999")),
        ("integer of 16 digits", extended("1000000000000000")),
        ("decimal of 12 and 3 digits", extended("-123456789012.345")),
        ("decimal of 13 digits before the point", extended("1234567890123.4")),
        ("decimal of 4 digits after the point", extended("1.2345")),
    ]


def other_versions() -> list[tuple[str, str]]:
    return [
        ("version 2", GOOD.replace("v=1", "v=2")),
        ("version 2 with other types", 'b="sixteen", n=?1, r=5, fp, w=(1 2), v=2'),
        ("version 0", "v=0"),
        ("version -1", "v=-1"),
        ("version 2 that is broken", "v=2, b=16,"),
        ("version 2 with a duplicate", "v=2, b=16, b=16"),
        ("version is a decimal", GOOD.replace("v=1", "v=1.0")),
        ("version is a string", GOOD.replace("v=1", 'v="1"')),
        ("version without a value", GOOD.replace("v=1", "v")),
        ("version missing", GOOD.replace("v=1, ", "")),
        ("empty", ""),
        ("only spaces", "  "),
    ]


def ignored_values() -> list[tuple[str, str]]:
    values = ["1", "1.5", '"a \\" \\\\ b"', "tok/en:*", "*", ":AAA:", "::", "?0", "@1659578233", '%"caf%c3%a9"', "()"]
    values += ['(1 "a";b;c=2  tok);d=?1', "1;a;b=:AA==:", "?1;a=1;a=2"]
    return [(f"ignored {value}", extended(value)) for value in values] + [
        ("ignored key without a value", f"{GOOD}, x;y=1, *.-_0"),
        ("another echo key is ignored", f"{GOOD}, wx=1"),
    ]


def refused() -> list[tuple[str, str]]:
    return [
        ("block missing", GOOD.replace("b=16, ", "")),
        ("length missing", GOOD.replace("n=2461, ", "")),
        ("fingerprint missing", GOOD.replace("fp=:q83vASNFZ4k=:, ", "")),
        ("rungs missing", HEAD),
        ("block is a string", GOOD.replace("b=16", 'b="16"')),
        ("length without a value", GOOD.replace("n=2461", "n")),
        ("length is a list", GOOD.replace("n=2461", "n=(2461)")),
        ("fingerprint is a token", GOOD.replace(":q83vASNFZ4k=:", "q83vASNFZ4k")),
        ("fingerprint of 7 bytes", GOOD.replace(":q83vASNFZ4k=:", ":q83vASNFZw==:")),
        ("fingerprint of 9 bytes", GOOD.replace(":q83vASNFZ4k=:", ":q83vASNFZ4kA:")),
        ("fingerprint unpadded", GOOD.replace(":q83vASNFZ4k=:", ":q83vASNFZ4k:")),
        ("fingerprint with bits in its padding", GOOD.replace(":q83vASNFZ4k=:", ":q83vASNFZ4l=:")),
        ("rungs are an item", f"{HEAD}, r=64;h={HASHES[0]}"),
        ("rungs without a value", f"{HEAD}, r"),
        ("rung is a token", f"{HEAD}, r=(a;h={HASHES[0]})"),
        ("rung without a hash", f"{HEAD}, r=(64;h={HASHES[0]} 65)"),
        ("rung with an empty hash", f"{HEAD}, r=(64;h)"),
        ("rung with a number for a hash", f"{HEAD}, r=(64;h=1)"),
        ("rung with a short hash", f"{HEAD}, r=(64;h=:AAAA:)"),
        ("rung with two hashes", f"{HEAD}, r=(64;h={HASHES[0]};h={HASHES[0]})"),
        ("rung with a wrong hash and two right ones", f"{HEAD}, r=(64;h=6;h={HASHES[0]};h={HASHES[0]})"),
        ("rungs equal", f"{HEAD}, r=(64;h={HASHES[0]} 64;h={HASHES[1]})"),
        ("rungs falling", f"{HEAD}, r=(64;h={HASHES[0]} 63;h={HASHES[1]})"),
        ("duplicate known key", f"{GOOD}, n=2461"),
        ("duplicate unknown key", f"{GOOD}, x=1, y=2, x=1"),
        ("tag without tokens", f"{GOOD}, w=:AAAAAA==:"),
        ("tokens without tag", f"{GOOD}, wn=1"),
        ("tag of 3 bytes", f"{GOOD}, w=:AAAA:, wn=1"),
        ("tag of 5 bytes", f"{GOOD}, w=:AAAAAAA=:, wn=1"),
        ("two wrong values, the first counts", "v=1, n=-1, b=0, fp=:AA==:, r=()"),
        ("a wrong value counts before a missing key", "v=1, b=0"),
    ]


def broken() -> list[tuple[str, str]]:
    values = ["", "-", "1.", "+1", '"a', '"a\\b"', '"\t"', ":AA", ":A:", ":AA===:", ":AA-_:", ":A A=:", "?", "?2", "@1.5", "@", "(1", "(1,2)"]
    values += ["(1;a\t)", "((1))", '%"%C3%A9"', '%"%ff"', '%"', "%a", "1;", "1;A", "1;a=", "1 2", "{}", "é", '"é"', '%"é"']
    return [(f"broken {value}", extended(value)) for value in values] + [
        ("comma at the end", f"{GOOD}, "),
        ("comma at the start", f",{GOOD}"),
        ("two commas", GOOD.replace("b=16,", "b=16,,")),
        ("tab at the start", f"\t{GOOD}"),
        ("capital key", GOOD.replace("b=16", "B=16")),
        ("space before the equals sign", GOOD.replace("b=16", "b =16")),
        ("tab in the list", f"{HEAD}, r=(64;h={HASHES[0]}\t65;h={HASHES[1]})"),
        ("NUL", f"{GOOD}\0"),
        ("syntax counts before an earlier wrong value", "v=1, b=0, n=,"),
    ]


def routes() -> list[tuple[str, str]]:
    return [
        ("canonical", "w=:b2xkLg==:, matched=2416, reason=resident"),
        ("any order, unknown keys", "x=(1), reason=spill_queue;y,  matched=0,w=:AAAAAA==:"),
        ("most tokens", "w=:b2xkLg==:, matched=4294967295, reason=*a/b:c"),
        ("a token too many", "w=:b2xkLg==:, matched=4294967296, reason=a"),
        ("tag missing", "matched=1, reason=a"),
        ("matched missing", "w=:b2xkLg==:, reason=a"),
        ("reason missing", "w=:b2xkLg==:, matched=1"),
        ("tag of 8 bytes", "w=:q83vASNFZ4k=:, matched=1, reason=a"),
        ("reason is a string", 'w=:b2xkLg==:, matched=1, reason="a"'),
        ("duplicate", "w=:b2xkLg==:, matched=1, reason=a, w=:b2xkLg==:"),
        ("comma at the end", "w=:b2xkLg==:, matched=1, reason=a,"),
        ("empty", ""),
    ]


def route_values() -> list[dict]:
    reasons = ["resident", "", "2nd", "two words", "a\r\nset-cookie: x", "é", "*:/", "模型ok"]
    return [{"worker": "6f6c642e", "matched_tokens": 2416, "reason": reason} for reason in reasons]
