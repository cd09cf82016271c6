#!/usr/bin/env python3
"""Sums up what routers.sh has run, as Markdown: several routers over one.

Usage: routers.py FOLDER_OF_RESULTS

Each number is the geometric mean of mean and p99 time to the first token over those of one router,
over all traces, caches and loads; the columns of single traces give mean / p99 / hit tokens for the
largest number of routers.
"""

import json
import math
import pathlib
import sys


def geometric(values):
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else float("nan")


def load(folder):
    runs = {}
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        arrangement, trace = path.stem.rsplit(".", 1)
        for row in json.loads(path.read_text(encoding="utf-8"))["results"]:
            runs.setdefault(arrangement, {})[(trace, row["cache_tokens"], row["load"])] = row
    return runs


def ratios(run, one, traces, key):
    return [max(run[k][key], 1) / max(one[k][key], 1) for k in one if k in run and k[0] in traces]


def main():
    runs = load(sys.argv[1])
    one = runs.pop("one")
    traces = sorted({key[0] for key in one})
    numbers = sorted({int(name.rsplit(".", 1)[1]) for name in runs})
    names = list(dict.fromkeys(name.rsplit(".", 1)[0] for name in runs))
    both = ("ttft_mean_ms", "ttft_p99_ms")
    print("| arrangement | " + " | ".join(f"{n} routers" for n in numbers) + " | "
          + " | ".join(f"{trace}, {numbers[-1]}" for trace in traces) + " |")
    print("|---" * (1 + len(numbers) + len(traces)) + "|")
    for name in names:
        cells = []
        for number in numbers:
            run = runs.get(f"{name}.{number}", {})
            overall = geometric(v for key in both for v in ratios(run, one, traces, key))
            cells.append(f"{overall:.2f}")
        run = runs.get(f"{name}.{numbers[-1]}", {})
        for trace in traces:
            parts = [geometric(ratios(run, one, [trace], key)) for key in (*both, "hit_tokens")]
            cells.append(" / ".join(f"{part:.2f}" for part in parts))
        print(f"| {name} | " + " | ".join(cells) + " |")


main()
