#!/usr/bin/env python3
"""Sums up the JSON of `headwater simulate` over several files as Markdown.

Usage: summarize.py RESULT.json…

Configurations are what differs in trace, workers, cache or load. Prints, for each policy, the mean
and the p99 time to the first token over those of the best single peer and over those of the best
peer of each configuration (geometric means), and its hit tokens over those with full knowledge.
"""

import json
import math
import sys

BOUNDS = ("oracle", "full-knowledge")
OURS = ("headwater", "headwater-no-hold", "ring")


def geometric(values):
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else float("nan")


def load(paths):
    groups = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for row in json.load(file)["results"]:
                key = (row["trace"], row["workers"], row["cache_tokens"], row["load"], row["routers"])
                groups.setdefault(key, {})[row["policy"]] = row
    return groups


def table(groups, title):
    everywhere = set.intersection(*(set(group) for group in groups.values()))
    peers = sorted(p for p in everywhere if p not in BOUNDS and p not in OURS)
    mean, p99 = "ttft_mean_ms", "ttft_p99_ms"
    rate = lambda policy, key: geometric(group[policy][key] for group in groups.values())
    best = min(peers, key=lambda policy: rate(policy, mean))
    print(f"\n{title}: {len(groups)} configurations, best single peer `{best}`\n")
    print("| policy | mean | p99 | mean / best of each | worst | p99 / best of each | worst | hits | worst |")
    print("|---|---|---|---|---|---|---|---|---|")
    lines = []
    for policy in everywhere:
        row = {}
        for name, key in (("mean", mean), ("p99", p99)):
            row[name] = rate(policy, key) / rate(best, key)
            ratios = [g[policy][key] / min(g[p][key] for p in peers) for g in groups.values()]
            row[name + "_each"], row[name + "_worst"] = geometric(ratios), max(ratios)
        hits = [
            max(g[policy]["hit_tokens"], 1) / max(g["full-knowledge"]["hit_tokens"], 1)
            for g in groups.values()
            if "full-knowledge" in g
        ]
        row["hits"], row["hits_worst"] = geometric(hits), min(hits, default=float("nan"))
        lines.append((row["mean"], policy, row))
    for _, policy, r in sorted(lines, key=lambda line: line[:2]):
        print(
            f"| {policy} | {r['mean']:.3f} | {r['p99']:.3f} | {r['mean_each']:.3f} | {r['mean_worst']:.2f} "
            f"| {r['p99_each']:.3f} | {r['p99_worst']:.2f} | {r['hits']:.3f} | {r['hits_worst']:.3f} |"
        )


def main():
    groups = load(sys.argv[1:])
    if not groups:
        sys.exit("no results")
    traces = sorted({key[0] for key in groups})
    table(groups, "All traces")
    if len(traces) > 1:
        for trace in traces:
            table({key: group for key, group in groups.items() if key[0] == trace}, trace)


main()
