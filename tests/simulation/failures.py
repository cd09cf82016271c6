#!/usr/bin/env python3
"""Sums up what failures.sh has run, as Markdown.

Usage: failures.py FOLDER_OF_RESULTS

Against the same run without an incident: the least share of its hit rate in any 30 s of the two
minutes after; seconds until 30 s together had 95 % of it; time to the first token of those who
arrived in the five minutes after; the longest time in two minutes in which one worker had over 1.5
times the mean and at least four requests more, and in brackets without an incident; seconds until
the worker that came had two thirds of the mean load, over 30 s.
"""

import json
import pathlib
import sys

WINDOW, AFTER = 30, 300
# Name, scenario, second of the incident, the worker that comes, the worker that is away after it.
INCIDENTS = (
    ("lost", "lost_and_back", 600, None, 2),
    ("back", "lost_and_back", 720, 2, None),
    ("added", "added", 600, 8, None),
)


def rate(run, start, end):
    asked = sum(run["prompt_tokens"][start:end])
    return sum(run["hit_tokens"][start:end]) / asked if asked else 0.0


def recovery(calm, run, at):
    shares = []
    for step in range(AFTER * 2):
        usual = rate(calm, at + step, at + step + WINDOW)
        if usual > 0:
            shares.append((step, rate(run, at + step, at + step + WINDOW) / usual))
    least = min(share for step, share in shares if step < 120)
    dips = [place for place, (step, share) in enumerate(shares) if share < 0.95 and step < 60]
    if not dips:
        return least, 0
    back = (step + WINDOW for step, share in shares[dips[0]:] if share >= 0.95)
    return least, next(back, None)


def waiting(run, at):
    requests = sum(run["requests"][at:at + AFTER])
    return sum(run["ttft_sum_ms"][at:at + AFTER]) / max(requests, 1)


def loads(run, second):
    return [row[second] if second < len(row) else 0.0 for row in run["load"]]


def overrun(run, at, away=None):
    longest, now = 0, [0] * len(run["load"])
    for second in range(at, at + 120):
        load = [value for worker, value in enumerate(loads(run, second)) if worker != away]
        mean = sum(load) / len(load)
        for worker, value in enumerate(load):
            over = value > 1.5 * mean and value - mean >= 4
            now[worker] = now[worker] + 1 if over else 0
        longest = max(longest, *now)
    return longest


def in_use(run, at, worker):
    for step in range(900):
        sums = [sum(row[at + step:at + step + WINDOW]) for row in run["load"]]
        if worker < len(sums) and sums[worker] >= sum(sums) / len(sums) * 2 / 3 > 0:
            return step + WINDOW
    return None


def main():
    folder = pathlib.Path(sys.argv[1])
    runs = {}
    for path in sorted(folder.glob("*.json")):
        trace, scenario = path.stem.rsplit(".", 1)
        for row in json.loads(path.read_text(encoding="utf-8"))["results"]:
            runs[(trace, scenario, row["policy"])] = row
    seconds = lambda number: "never" if number is None else f"{number} s"
    print("| trace | incident | policy | least hits | 95 % after | waiting | overrun | in use after |")
    print("|---" * 8 + "|")
    policies = list(dict.fromkeys(key[2] for key in runs))
    for trace in dict.fromkeys(key[0] for key in runs):
        for name, scenario, at, worker, away in INCIDENTS:
            for policy in policies:
                calm = runs[(trace, "none", policy)]["over_time"]
                run = runs[(trace, scenario, policy)]["over_time"]
                assert calm["slice_s"] == run["slice_s"] == 1, "slices of a second are expected"
                least, back = recovery(calm, run, at)
                use = "" if worker is None else seconds(in_use(run, at, worker))
                print(
                    f"| {trace} | {name} | {policy} | {least:.2f} | {seconds(back)} "
                    f"| {waiting(run, at) / max(waiting(calm, at), 1e-9):.2f} "
                    f"| {overrun(run, at, away)} s ({overrun(calm, at)} s) | {use} |"
                )


main()
