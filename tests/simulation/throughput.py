#!/usr/bin/env python3
"""How many requests a second each policy sustains on set-up A at the same p99 time to first token.

    HEADWATER=target/release/headwater tests/simulation/throughput.py [P99_MS] [POLICY,…]

More and more users come to the 32 replicas until p99 passes the bound (default: what round robin
has with the published 1,000 users); the most users within it are found by halving.
"""

import json
import os
import subprocess
import sys

POLICIES = "round-robin,session-ring-16,session-hash,llm-d,headwater-no-hold,headwater,oracle"
STEP = 25
MOST_USERS = 6400


def run(policy: str, users: int) -> dict:
    """One run: the only result of `headwater simulate`."""
    command = [os.environ.get("HEADWATER", "headwater"), "simulate", "--setup", "a"]
    command += ["--users", str(users), "--policy", policy, "--format", "json", "--threads", "1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["results"][0]


def most(policy: str, bound: float) -> tuple[int, dict] | None:
    """The most users with p99 within the bound, in steps, and their run."""
    low, high = 0, MOST_USERS // STEP + 1
    best = None
    while high - low > 1:
        middle = (low + high) // 2
        result = run(policy, middle * STEP)
        if result["ttft_p99_ms"] <= bound:
            low, best = middle, (middle * STEP, result)
        else:
            high = middle
    return best


def main() -> None:
    bound = float(sys.argv[1]) if len(sys.argv) > 1 else run("round-robin", 1000)["ttft_p99_ms"]
    policies = sys.argv[2] if len(sys.argv) > 2 else POLICIES
    print(f"p99 of at most {bound:.0f} ms\n")
    print("| policy | users | requests/s | to the first | mean | p99 | hit rate |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    first = None
    for policy in policies.split(","):
        best = most(policy, bound)
        if best is None:
            print(f"| {policy} | fewer than {STEP} | – | – | – | – | – |")
            continue
        users, result = best
        rate = result["throughput_rps"]
        first = first or rate
        print(
            f"| {policy} | {users} | {rate:.1f} | {rate / first:.2f} | {result['ttft_mean_ms']:.0f} ms "
            f"| {result['ttft_p99_ms']:.0f} ms | {100 * result['hit_rate']:.1f} % |",
            flush=True,
        )


if __name__ == "__main__":
    main()
