#!/usr/bin/env python3
"""Measures the router beside nginx, HAProxy and Envoy, and prints the tables of docs/router-performance.md.

    tests/router-performance/run.sh                      builds what is needed, then measures everything
    measure.py --tools FOLDER [--router FILE] …          with programs that are there already

Needs two CPUs: every proxy is pinned to the second, workers and load to the first. Rounds go over all
proxies, every other one backwards; a ratio is taken within its round, then the median of all rounds.
`nginx2` is nginx again: how far it is from 1 is the noise. On a busy machine only ratios mean anything.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time

import proxies

WORKERS = list(range(21001, 21257))
LOADS = {
    "1 KiB": {"conns": 64, "size": 1024},
    "16 KiB": {"conns": 64, "size": 16384},
    "64 KiB": {"conns": 32, "size": 65536},
    "512 KiB": {"conns": 8, "size": 524288},
    "event": {"conns": 64, "size": 4096, "chunks": 64, "delay-us": 5000},
}
OPEN = {"conns": 64, "size": 1024, "rate": 500}


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="router-performance-")
        self.binaries = {}
        for role, names in (("load", ("load", "lg")), ("mock", ("mock_workers", "mock"))):
            paths = [os.path.join(options.tools, name) for name in names]
            self.binaries[role] = next((path for path in paths if os.path.exists(path)), None)
            if not self.binaries[role]:
                raise SystemExit(f"no {names[0]} in {options.tools}; run.sh builds it")
        ports = ",".join(map(str, WORKERS))
        argv = ["taskset", "-c", "0", self.binaries["mock"], "--control", "21000", "--ports", ports]
        self.mock = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
        time.sleep(1)

    def router(self, name="router", port=22001):
        return proxies.router(name, port, self.folder, self.options.router)

    def peers(self):
        folder, without = self.folder, self.options.without
        guided = self.options.guided
        found = [proxies.router("guided", 22006, folder, guided)] if guided else []
        found += [proxies.nginx("nginx", 22002, folder), proxies.nginx("nginx2", 22003, folder)]
        if "haproxy" not in without:
            found.append(proxies.haproxy("haproxy", 22004, folder))
        if self.options.envoy:
            found.append(proxies.envoy("envoy", 22005, folder, self.options.envoy))
        return found

    def load(self, ports, **options):
        targets = ",".join(f"127.0.0.1:{port}" for port in ports)
        argv = ["taskset", "-c", "0", self.binaries["load"], "--targets", targets]
        for name, value in options.items():
            argv += [f"--{name}", str(value)]
        return subprocess.Popen(argv, stdout=subprocess.PIPE)

    def sample(self, proxy, load, secs, idle=0.0):
        """Microseconds of CPU for each request (each event), and the middle latency."""
        before = proxy.cpu_seconds()
        done = json.loads(self.load([proxy.port], secs=secs, **load).communicate()[0])
        used = (proxy.cpu_seconds() - before - idle * done["secs"]) * 1e6
        if done["non200"] or done["errors"]:
            print(f"  {proxy.name}: {done['non200']} other answers, {done['errors']} errors", flush=True)
        return used / max(1, done["chunks"] or done["ok"]), done["lat"]["p50"]

    def direct_p50(self, secs):
        done = json.loads(self.load(WORKERS[:4], secs=secs, **OPEN).communicate()[0])
        return done["lat"]["p50"]


def median(values):
    return statistics.median(values) if values else float("nan")


def cpu_table(bench, started):
    """CPU for each request and event, as a ratio to nginx."""
    rows = {proxy.name: [] for proxy in started}
    absolute = []
    for load in LOADS.values():
        samples = {proxy.name: [] for proxy in started}
        for proxy in started:
            bench.sample(proxy, load, 0.4)
        for number in range(bench.options.rounds):
            for proxy in started[:: -1 if number % 2 else 1]:
                samples[proxy.name].append(bench.sample(proxy, load, bench.options.secs)[0])
        for name, values in samples.items():
            pairs = zip(values, samples["nginx"])
            rows[name].append(median([value / base for value, base in pairs]))
        absolute.append(median(samples["nginx"]))
    print("\n| CPU, nginx = 1 | " + " | ".join(LOADS) + " |\n|---" + "|---:" * len(LOADS) + "|")
    for name, ratios in rows.items():
        print(f"| {name} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")
    print("| nginx, µs | " + " | ".join(f"{value:.1f}" for value in absolute) + " |", flush=True)


def latency_table(bench, started):
    """Added to the middle latency of an open loop of 500 requests a second."""
    added = {proxy.name: [] for proxy in started}
    for number in range(bench.options.rounds):
        direct = bench.direct_p50(bench.options.secs)
        for proxy in started[:: -1 if number % 2 else 1]:
            added[proxy.name].append(bench.sample(proxy, OPEN, bench.options.secs)[1] - direct)
    print("\n| | added p50 at 500 requests/s, µs |\n|---|---:|")
    for name, values in added.items():
        print(f"| {name} | {median(values):.0f} |", flush=True)


def idle_table(started):
    print("\n| | idle, 4 workers, MiB resident |\n|---|---:|")
    for proxy in started:
        print(f"| {proxy.name} | {proxy.resident_kib() / 1024:.1f} |", flush=True)


def start_time(bench):
    times = []
    for _ in range(7):
        proxy = bench.router()
        times.append(proxy.start(WORKERS[:4], 1) * 1000)
        proxy.stop()
    print(f"| start to the first answer | {min(times):.0f}–{max(times):.0f} ms |", flush=True)


def idle_cpu(bench):
    proxy = bench.router()
    proxy.start(WORKERS[:100], 1)
    time.sleep(3)
    resident, before = proxy.resident_kib(), proxy.cpu_seconds()
    time.sleep(15)
    share = (proxy.cpu_seconds() - before) / 15
    proxy.stop()
    print(f"| idle, 100 workers | {share:.1%} of a CPU, {resident / 1024:.1f} MiB |", flush=True)


def streams(bench, proxy, count):
    """What each of many open streams adds, an event a second each."""
    proxy.start(WORKERS[:4], 1)
    time.sleep(1)
    before = proxy.resident_kib()
    load = bench.load([proxy.port], secs=1, conns=count, size=4096, chunks=60, **{"delay-us": 1000000})
    time.sleep(8 + count / 1000)
    each = (proxy.resident_kib() - before) / count
    load.kill()
    load.wait()
    proxy.stop()
    print(f"| {proxy.name}: each of {count:,} open streams | {each:.1f} KiB |", flush=True)


def large_body(bench):
    proxy = bench.router()
    proxy.start(WORKERS[:4], 1)
    bench.sample(proxy, LOADS["64 KiB"], 1)
    before = most = proxy.resident_kib()
    load = bench.load([proxy.port], secs=5, conns=1, size=100 << 20, **{"max-requests": 1})
    while load.poll() is None:
        most = max(most, proxy.resident_kib())
        time.sleep(0.02)
    proxy.stop()
    print(f"| a body of 100 MiB | + {(most - before) / 1024:.1f} MiB |", flush=True)


def growth(bench):
    """CPU for each request with more workers, and with a full table of what workers hold."""
    # So few conversations fill a tenth of the table; no two requests are of one of so many.
    few, new = 100, 1 << 40
    small = bench.router("few", 22011)
    others = {
        "64 workers": (bench.router("w64", 22012), 64, few),
        "256 workers": (bench.router("w256", 22013), 256, few),
        "full residency table": (bench.router("full", 22014), 4, few),
        "full residency table, each of a new conversation": (bench.router("new", 22015), 4, new),
    }
    small.start(WORKERS[:4], 1)
    for proxy, workers, _ in others.values():
        proxy.start(WORKERS[:workers], 1)
    time.sleep(2)
    routers = [small] + [proxy for proxy, _, _ in others.values()]
    # Asking more workers how they are costs more, but not for each request: it is taken off.
    idle = {proxy: proxy.cpu_seconds() for proxy in routers}
    time.sleep(4)
    idle = {proxy: (proxy.cpu_seconds() - before) / 4 for proxy, before in idle.items()}
    for name, (proxy, _, _) in others.items():
        if "full" in name:
            bench.sample(proxy, {**LOADS["1 KiB"], "sigs": new}, 4)
    ratios = {name: [] for name in others}
    for _ in range(bench.options.rounds):
        base = bench.sample(small, {**LOADS["1 KiB"], "sigs": few}, bench.options.secs, idle[small])[0]
        for name, (proxy, _, sigs) in others.items():
            load = {**LOADS["1 KiB"], "sigs": sigs}
            used = bench.sample(proxy, load, bench.options.secs, idle[proxy])[0]
            ratios[name].append(used / base)
    for name, values in ratios.items():
        print(f"| CPU for each request, {name} | {median(values):.2f} of that with 4 workers |", flush=True)
    for proxy in routers:
        proxy.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, help="folder with `load` and `mock_workers` (or `lg` and `mock`)")
    parser.add_argument("--router", required=True, help="the router's program")
    parser.add_argument("--guided", help="the router's program as crates/router/profile-guided.sh builds it")
    parser.add_argument("--envoy", help="Envoy's program; left out without it")
    parser.add_argument("--without", action="append", default=[], choices=["haproxy"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--secs", type=float, default=2.0)
    parser.add_argument("--only", action="append", default=[], choices=["cpu", "latency", "single", "streams", "growth"])
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    wanted = lambda part: not options.only or part in options.only
    bench = Bench(options)
    started = []
    try:
        if wanted("cpu") or wanted("latency"):
            started = [bench.router()] + bench.peers()
            for proxy in started:
                proxy.start(WORKERS[:4], 1)
            time.sleep(2)
            idle_table(started)
            if wanted("cpu"):
                cpu_table(bench, started)
            if wanted("latency"):
                latency_table(bench, started)
        for proxy in started:
            proxy.stop()
        print("\n| the router | |\n|---|---|")
        if wanted("single"):
            start_time(bench)
            large_body(bench)
            idle_cpu(bench)
        if wanted("growth"):
            growth(bench)
        if wanted("streams"):
            # Two descriptors for each stream, and some more.
            for count in (1_000, min(10_000, (most - 200) // 2)):
                streams(bench, bench.router(), count)
            for proxy in bench.peers():
                if proxy.name != "nginx2":
                    streams(bench, proxy, 1_000)
    finally:
        for proxy in started:
            proxy.stop()
        bench.mock.kill()


if __name__ == "__main__":
    main()
