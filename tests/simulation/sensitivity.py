#!/usr/bin/env python3
"""What each constant of placement is worth: time to the first token with other values, over that
with the default.

    HEADWATER=target/release/headwater tests/simulation/sensitivity.py FOLDER_OF_TRACES [NAME …]

Eight workers, load 0.6, both caches of each trace; geometric means of the mean and of p99. The
traces and their caches are those of grid.sh.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

# Each constant with its default and the values tried.
CONSTANTS = {
    "miss_factor": (3, [1.5, 6]),
    "congestion_factor": (1, [0.5, 2]),
    "active_ms": (10, [5, 20]),
    "near_tie_ms": (10, [0, 50]),
    "fresh_share": (1, [0.8, 1.25]),
    "residency_per_worker": (2048, [512, 8192]),
    "hold_tokens": (2048, [512, 8192, 32768]),
    "ageing": (0.1, [0.02, 0.5]),
    "rebound_ms": (10, [0, 100]),
    "max_ongoing": (16, [8, 32, 64]),
    "spill_ms": (500, [200, 2000, 1000000]),
    "high_watermark": (0.85, [0.7, 1]),
    "max_drift": (8, [1, 64]),
    "draw_ms": (30, [0, 300]),
}

TRACES = [
    ("mooncake_conversation*", "500000,3000000"),
    ("mooncake_synthetic*", "500000,3000000"),
    ("tool_like*", "500000,3000000"),
    ("weka_cc*merged*", "1500000,4000000"),
    ("lm_agents*", "250000,1000000"),
]
GENERATED = [("rag-like", "250000,1000000"), ("shared-prefix", "250000,1000000")]


def run(trace: str, caches: str, settings: list[str]) -> list[dict]:
    """The two results of a trace."""
    command = [os.environ.get("HEADWATER", "headwater"), "simulate", trace]
    command += ["--policy", "headwater", "--workers", "8", "--load", "0.6", "--format", "json"]
    command += ["--cache-tokens", caches]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["results"]


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    names = sys.argv[2:] or list(CONSTANTS)
    traces = [(str(file), caches) for glob, caches in TRACES for file in sorted(folder.glob(glob))]
    traces += GENERATED

    def times(settings: list[str]) -> list[dict]:
        return [result for trace, caches in traces for result in run(trace, caches, settings)]

    def over(base: list[dict], other: list[dict], key: str) -> float:
        logs = [math.log(new[key] / old[key]) for old, new in zip(base, other)]
        return math.exp(sum(logs) / len(logs))

    base = times([])
    print("| constant | default | tried | mean | p99 | worst mean |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in names:
        default, tried = CONSTANTS[name]
        for value in tried:
            other = times([f"{name}={value}"])
            worst = max(n["ttft_mean_ms"] / o["ttft_mean_ms"] for o, n in zip(base, other))
            mean, p99 = over(base, other, "ttft_mean_ms"), over(base, other, "ttft_p99_ms")
            row = f"| `{name}` | {default} | {value} | {mean:.3f} | {p99:.3f} | {worst:.2f} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
