"""Sends pairs of prompts to a real engine and compares what it took from its cache with what the
SDK predicted, to the token.

Started by run.sh, which makes everything ready. HEADWATER_GROUND_TRUTH names the program that
builds the pairs.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from engine import Engine, engine


@dataclass
class Row:
    """What came of one pair on one endpoint."""

    case: str
    how: str
    endpoint: str
    tokens: int
    equal: int
    predicted: int
    cached: int
    faults: list[str]


def pairs(model: Path, block: int) -> list[dict]:
    command = [os.environ["HEADWATER_GROUND_TRUTH"], str(model / "tokenizer.json"), str(block)]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8").stdout
    return [json.loads(line) for line in lines.splitlines()]


def run(running: Engine, pair: dict, block: int) -> Row:
    """One pair against an empty cache."""
    running.forget()
    faults: list[str] = []
    for place, request in zip(("first", "second"), pair["requests"]):
        tokens, cached = running.ask(pair["endpoint"], request["body"])
        faults += [f"{place}: {fault}" for fault in compare(running, request, tokens, cached, block)]
        if place == "first" and cached:
            faults.append(f"first: {cached} tokens from a cache that should be empty")
    if cached != pair["predicted"]:
        faults.append(f"predicted {pair['predicted']} tokens, the engine took {cached}")
    return Row(pair["case"], pair["how"], pair["endpoint"], tokens, pair["equal"], pair["predicted"], cached, faults)


def compare(running: Engine, request: dict, tokens: int, cached: int, block: int) -> list[str]:
    """What differs between the prompt as the SDK signed it and as the engine had it."""
    faults = []
    if tokens != len(request["tokens"]):
        faults.append(f"{len(request['tokens'])} tokens signed, the engine counts {tokens}")
    # What came from the cache is not stored again, so it is not announced. Equal names mean equal
    # tokens, one by one.
    expected = request["blocks"][cached // block :]
    stored = running.stored_blocks(len(expected))
    if stored[: len(expected)] != expected:
        equal = next((i for i, (a, b) in enumerate(zip(stored, expected)) if a != b), min(len(stored), len(expected)))
        faults.append(f"of {len(expected)} block hashes the first {equal} are the engine's ({len(stored)} stored)")
    if request["body"]["max_tokens"] == 1 and len(stored) > len(expected):
        faults.append(f"{len(stored)} blocks stored, {len(expected)} expected")
    return faults


def table(results: dict[int, list[Row]]) -> str:
    """A Markdown table with a row for each pair and endpoint."""
    blocks = sorted(results)
    heads = ["pair", "bytes", "endpoint", "tokens", "equal"]
    heads += [f"predicted, {block}" for block in blocks] + [f"cached, {block}" for block in blocks]
    lines = [heads, ["---"] * 3 + ["---:"] * (len(heads) - 3)]
    for rows in zip(*(results[block] for block in blocks)):
        row = rows[0]
        line = [row.case, row.how, row.endpoint]
        # The pair that fills its last block has another length for another block.
        line += ["/".join(dict.fromkeys(str(value) for value in values)) for values in
                 ([r.tokens for r in rows], [r.equal for r in rows])]
        lines.append(line + [str(r.predicted) for r in rows] + [str(r.cached) for r in rows])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def show(row: Row) -> None:
    verdict = "ok" if not row.faults else "DIFFERS"
    name = f"{row.case} ({row.how}, {row.endpoint})"
    print(f"{name:68} {row.equal:6} {row.tokens:6} {row.predicted:6} {row.cached:6}  {verdict}", flush=True)
    for fault in row.faults:
        print(f"    {fault}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("--cache", type=Path, required=True, help="folder of the model, and of the logs")
    arguments.add_argument("--blocks", default="16,32", help="block sizes, each with an engine of its own")
    arguments.add_argument("--markdown", type=Path, help="where to write the table")
    given = arguments.parse_args()
    # As an exception, so that the engine is stopped too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))

    results: dict[int, list[Row]] = {}
    for block in map(int, given.blocks.split(",")):
        work = pairs(given.cache / "model", block)
        print(f"\nstarting an engine with blocks of {block} tokens", flush=True)
        with engine(given.cache / "model", block, given.cache / f"engine-{block}.log") as running:
            print(f"{'pair':68} {'equal':>6} {'tokens':>6} {'predic':>6} {'cached':>6}")
            results[block] = []
            for pair in work:
                row = run(running, pair, block)
                show(row)
                results[block].append(row)

    if given.markdown:
        given.markdown.write_text(table(results), encoding="utf-8")
    rows = [row for rows in results.values() for row in rows]
    wrong = sum(bool(row.faults) for row in rows)
    hashes = "block hashes equal to the engine's" if not wrong else "see the lines marked DIFFERS"
    print(f"\n{len(rows) - wrong} of {len(rows)} exact; {hashes}")
    sys.exit(wrong != 0 or not rows)


if __name__ == "__main__":
    main()
