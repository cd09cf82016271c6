#!/usr/bin/env python3
"""Sums up the JSON of `headwater simulate` over several files as Markdown.

Usage: summarize.py RESULT.json…
       summarize.py --spread FOLDER…     the same over several seeds, a folder of results each
       summarize.py --into FILE RESULT.json…
                                         writes the tables between FILE's two marks instead

Configurations are what differs in trace, workers, cache or load. Prints, for each policy, the mean
and the p99 time to the first token over those of the best single peer and over those of the best
peer of each configuration (geometric means), and its hit tokens over those with full knowledge.
"""

import glob
import json
import math
import os
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


def best_peer(groups):
    everywhere = set.intersection(*(set(group) for group in groups.values()))
    peers = sorted(p for p in everywhere if p not in BOUNDS and p not in OURS)
    if not peers:
        sys.exit("no published policy ran everywhere, so there is nothing to compare with; add one to POLICIES, such as llm-d")
    mean = lambda policy: geometric(group[policy]["ttft_mean_ms"] for group in groups.values())
    return everywhere, peers, min(peers, key=mean)


def table(groups, title, out):
    everywhere, peers, best = best_peer(groups)
    mean, p99 = "ttft_mean_ms", "ttft_p99_ms"
    rate = lambda policy, key: geometric(group[policy][key] for group in groups.values())
    out.append(f"\n{title}: {len(groups)} configurations, best single peer `{best}`\n")
    out.append("| policy | mean | p99 | mean / best of each | worst | p99 / best of each | worst | hits | worst |")
    out.append("|---|---|---|---|---|---|---|---|---|")
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
        out.append(
            f"| {policy} | {r['mean']:.3f} | {r['p99']:.3f} | {r['mean_each']:.3f} | {r['mean_worst']:.2f} "
            f"| {r['p99_each']:.3f} | {r['p99_worst']:.2f} | {r['hits']:.3f} | {r['hits_worst']:.3f} |"
        )


def by_workload(groups, out, policy="headwater"):
    """One row for each trace: our default over the best single peer of that trace."""
    mean, p99 = "ttft_mean_ms", "ttft_p99_ms"
    out.append(f"\n`{policy}` by workload, over the best single peer of that workload\n")
    out.append("| workload | that peer | mean | p99 | hits | worst mean over the best peer of each |")
    out.append("|---|---|---|---|---|---|")
    for trace in sorted({key[0] for key in groups}):
        own = [group for key, group in groups.items() if key[0] == trace]
        _, peers, best = best_peer(dict(enumerate(own)))
        over = lambda key: geometric(g[policy][key] / g[best][key] for g in own)
        known = [g for g in own if "full-knowledge" in g]
        hits = geometric(g[policy]["hit_tokens"] / max(g["full-knowledge"]["hit_tokens"], 1) for g in known)
        worst = max(g[policy][mean] / min(g[p][mean] for p in peers) for g in own)
        out.append(f"| {trace} | {best} | {over(mean):.3f} | {over(p99):.3f} | {hits:.3f} | {worst:.2f} |")


def spread(folders):
    """For each policy the least and the most over the folders of what `table` tells."""
    rows = {}
    for folder in folders:
        groups = load(sorted(glob.glob(os.path.join(folder, "*.json"))))
        everywhere, peers, best = best_peer(groups)
        for policy in everywhere:
            row = rows.setdefault(policy, [[], [], [], []])
            for at, key in enumerate(("ttft_mean_ms", "ttft_p99_ms")):
                row[at].append(geometric(g[policy][key] / g[best][key] for g in groups.values()))
                row[at + 2].append(max(g[policy][key] / min(g[p][key] for p in peers) for g in groups.values()))
    print("| policy | mean | p99 | worst mean | worst p99 |")
    print("|---|---|---|---|---|")
    for policy, row in sorted(rows.items(), key=lambda item: item[1][0]):
        print(f"| {policy} | " + " | ".join(f"{min(v):.3f} to {max(v):.3f}" for v in row) + " |")


def write_into(path, lines):
    begin, end = "<!-- grid: written by tests/simulation/grid.sh -->", "<!-- grid: end -->"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + begin + "\n" + "\n".join(lines).strip() + "\n" + end + after)


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--spread"]:
        return spread(arguments[1:])
    target = None
    if arguments[:1] == ["--into"]:
        target, arguments = arguments[1], arguments[2:]
    groups = load(arguments)
    if not groups:
        sys.exit("no results")
    lines = []
    table(groups, "All traces", lines)
    by_workload(groups, lines)
    if target:
        return write_into(target, lines)
    traces = sorted({key[0] for key in groups})
    if len(traces) > 1:
        for trace in traces:
            table({key: group for key, group in groups.items() if key[0] == trace}, trace, lines)
    print("\n".join(lines))


main()
