"""Ten five-turn conversations over two real engines: round robin, then Headwater.

The engines report how many prompt tokens they found in their caches; every check rests on that.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Callable

from dialogue import TURNS, Conversation, conversations
from exchange import Answer, Echo, hold_turn, parsed_route, send
from processes import engines, router

ENGINES = 2
# Each engine could hold every conversation, so what is missed is missed by routing alone.
SLOTS, TOKENS_PER_SLOT = 10, 4096
CONCURRENT = 4
SEED = 7
WANTED_HIT_RATE = 0.90
TIME_LIMIT_SECONDS = 240


@dataclass
class Run:
    """The answers of one way of routing: `turns[conversation][turn]`."""

    name: str
    turns: list[list[Answer]]

    def hit_rates(self) -> list[float]:
        """For turns 2 to 5 of each conversation: cached tokens over the previous turn's prompt tokens."""
        pairs = [pair for answers in self.turns for pair in zip(answers, answers[1:])]
        return [min(now.cached_tokens / before.prompt_tokens, 1.0) for before, now in pairs]

    def hit_rate(self) -> float:
        rates = self.hit_rates()
        return sum(rates) / len(rates)


def hold_all(name: str, next_url: Callable[[], str]) -> Run:
    """Holds all conversations turn by turn, in a new order each turn, a few of them at a time."""
    talks, dice = conversations(SEED), random.Random(SEED)
    turns: list[list[Answer]] = [[] for _ in talks]
    with ThreadPoolExecutor(CONCURRENT) as pool:
        for turn in range(TURNS):
            order = dice.sample(range(len(talks)), len(talks))
            sent = [(index, pool.submit(hold_turn, talks[index], turn, next_url())) for index in order]
            for index, future in sent:
                turns[index].append(future.result())
    return Run(name, turns)


def round_robin(model: Path, logs: Path) -> Run:
    with engines(model, ENGINES, SLOTS, TOKENS_PER_SLOT, logs) as urls:
        return hold_all("round robin", cycle(urls).__next__)


def headwater(model: Path, logs: Path) -> Run:
    with engines(model, ENGINES, SLOTS, TOKENS_PER_SLOT, logs) as urls, router(urls, logs) as url:
        run = hold_all("headwater", lambda: url)
        check_bad_signature(url)
    for answers in run.turns:
        for answer in answers:
            parsed_route(answer)
    return run


def check_bad_signature(url: str) -> None:
    """A signature that cannot be read must cost nothing but its advice."""
    answer = send(url, "Is anybody there?", {"Prefix-Signature": "v=1, b=sixteen, r=("})
    check(bool(answer.text), "a request with a malformed signature is answered")
    check(answer.route is not None, "and says where it went")


def check_echo(model: Path, logs: Path) -> None:
    """Conversations start at routers that know one engine each, and go on at one that has seen none of them."""
    with (
        engines(model, ENGINES, SLOTS, TOKENS_PER_SLOT, logs) as urls,
        router(urls[:1], logs) as first,
        router(urls[1:], logs) as second,
        router(urls, logs) as stranger,
    ):
        talks = conversations(SEED)
        # Halves, not turns about: a router without the echo would put idle workers' requests there by turns.
        starts = [first if index < len(talks) // 2 else second for index in range(len(talks))]
        stayed = sum(stays_with_worker(talk, start, stranger) for talk, start in zip(talks, starts))
    check(stayed == len(talks), f"{stayed} of {len(talks)} conversations stayed where they had begun")


def stays_with_worker(talk: Conversation, start: str, stranger: str) -> bool:
    """Whether turn 2, with the route of turn 1 in its signature, reached the engine of turn 1."""
    before = hold_turn(talk, 0, start, Echo.ON)
    now = hold_turn(talk, 1, stranger, Echo.ON)
    same_worker = parsed_route(now)["tag"] == parsed_route(before)["tag"]
    return same_worker and now.cached_tokens >= WANTED_HIT_RATE * before.prompt_tokens


def leave_cleanly() -> None:
    """Turns SIGTERM and the time limit into an exit that still stops the children."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"not done after {TIME_LIMIT_SECONDS} s"))
    signal.alarm(TIME_LIMIT_SECONDS)


def check(holds: bool, what: str) -> None:
    print(f"{'ok    ' if holds else 'FAILED'} {what}")
    if not holds:
        failures.append(what)


failures: list[str] = []


def report(runs: list[Run]) -> None:
    print(f"\n{'':12} {'turn 1':>8} {'turn 2':>8} {'turn 3':>8} {'turn 4':>8} {'turn 5':>8}   cached tokens (mean)")
    for run in runs:
        means = [sum(answer.cached_tokens for answer in column) / len(column) for column in zip(*run.turns)]
        print(f"{run.name:12} " + " ".join(f"{mean:8.0f}" for mean in means))
    prompts = [sum(answer.prompt_tokens for answer in column) / len(column) for column in zip(*runs[-1].turns)]
    print(f"{'prompt':12} " + " ".join(f"{mean:8.0f}" for mean in prompts) + "\n")
    for run in runs:
        print(f"{run.name:12} turns 2 to 5 hit {run.hit_rate():6.1%} of the previous turn's prompt")
    print()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--model", type=Path, required=True)
    args = arguments.parse_args()
    leave_cleanly()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as logs:
        runs = [way(args.model, Path(logs)) for way in (round_robin, headwater)]
        report(runs)
        plain, routed = runs
        check(routed.hit_rate() >= WANTED_HIT_RATE, f"headwater hits at least {WANTED_HIT_RATE:.0%}")
        check(plain.hit_rate() < routed.hit_rate(), "round robin hits less")
        check_echo(args.model, Path(logs))
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
