#!/usr/bin/env python3
"""Writes traces of other kinds than the published ones: other_traces.py FOLDER [SEED].

Each is 5,000 requests in Mooncake's form, blocks of 64 tokens, without think times of anybody real:
bigsystem   three system prompts of 16,000 to 26,000 tokens, short questions on them
branches    a prompt of 3,000 to 30,000 tokens, then 2 to 16 branches of it at the same moment
bursts      250 conversations that begin at the same moment, now and then
compaction  agents whose contexts grow to 100,000 tokens and are then replaced by a summary
documents   questions on 60 documents of 20,000 to 120,000 tokens, in runs
oneoff      prompts that share nothing, 10 to 200,000 tokens long
retrieval   one to three of 300 documents by popularity, then a question
same        one prompt, again and again
tenants     chats of 50 tenants with system prompts of 2,000 to 8,000 tokens
waves       chats of 5 tenants at a rate that rises and falls
"""

import itertools
import json
import math
import pathlib
import random
import sys

BLOCK, REQUESTS = 64, 5000


class Prompts:
    """Blocks that nobody had before."""

    def __init__(self):
        self.numbers = itertools.count(1)

    def new(self, tokens):
        return [next(self.numbers) for _ in range(max(1, int(tokens) // BLOCK))]


def popular(dice, count, exponent):
    return dice.choices(range(count), [1 / (rank + 1) ** exponent for rank in range(count)])[0]


def bigsystem(dice, prompts):
    systems = [prompts.new(dice.randint(16000, 26000)) for _ in range(3)]
    at = 0.0
    for session in itertools.count():
        at += dice.expovariate(1 / 120)
        blocks, time = list(dice.choice(systems)), at
        for _ in range(dice.randint(1, 3)):
            blocks = blocks + prompts.new(dice.randint(64, 300))
            answer = dice.randint(30, 300)
            yield time, blocks, answer, session
            blocks = blocks + prompts.new(answer)
            time += answer * 25 + dice.expovariate(1 / 15000)


def branches(dice, prompts):
    at, sessions = 0.0, itertools.count()
    while True:
        at += dice.expovariate(1 / 6000)
        stem = prompts.new(dice.randint(3000, 30000))
        yield at, stem + prompts.new(64), 200, next(sessions)
        begin = at + dice.expovariate(1 / 8000)
        for _ in range(dice.choice([2, 4, 8, 8, 16])):
            session, blocks, time = next(sessions), stem + prompts.new(dice.randint(64, 800)), begin
            for _ in range(dice.randint(1, 4)):
                answer = dice.randint(50, 500)
                yield time, blocks, answer, session
                blocks = blocks + prompts.new(answer) + prompts.new(dice.randint(64, 1500))
                time += answer * 25 + dice.expovariate(1 / 4000)


def compaction(dice, prompts):
    systems = [prompts.new(9000), prompts.new(6000)]
    at = 0.0
    for session in itertools.count():
        at += dice.expovariate(1 / 8000)
        system, time = dice.choice(systems), at
        blocks = system + prompts.new(dice.randint(200, 4000))
        for _ in range(int(dice.expovariate(1 / 25)) + 3):
            answer = dice.randint(30, 300)
            yield time, blocks, answer, session
            blocks = blocks + prompts.new(answer) + prompts.new(dice.lognormvariate(6.5, 1.2))
            time += answer * 20 + dice.expovariate(1 / 3000)
            if len(blocks) * BLOCK > 100000:
                blocks = system + prompts.new(dice.randint(4000, 12000))


def documents(dice, prompts):
    texts = [prompts.new(dice.randint(20000, 120000)) for _ in range(60)]
    at = 0.0
    for session in itertools.count():
        at += dice.expovariate(1 / 900)
        if session % 40 == 0:
            hot = dice.sample(texts, 6)
        text = dice.choice(hot) if dice.random() < 0.7 else dice.choice(texts)
        yield at, text + prompts.new(dice.randint(64, 500)), dice.randint(100, 600), session


def oneoff(dice, prompts):
    at = 0.0
    for session in itertools.count():
        at += dice.expovariate(1 / 500)
        tokens = min(200000, max(10, dice.lognormvariate(7.5, 1.5)))
        yield at, prompts.new(tokens), dice.randint(20, 500), session


def retrieval(dice, prompts):
    system, sizes, known = prompts.new(512), [dice.randint(1500, 6000) for _ in range(300)], {}
    at = 0.0
    for session in itertools.count():
        at += dice.expovariate(1 / 200)
        blocks, path = list(system), ()
        for _ in range(dice.randint(1, 3)):
            # A text behind another one is another prefix.
            path += (popular(dice, 300, 1.0),)
            if path not in known:
                known[path] = prompts.new(sizes[path[-1]])
            blocks += known[path]
        yield at, blocks + prompts.new(dice.randint(64, 400)), dice.randint(50, 400), session


def same(dice, prompts):
    prompt, at = prompts.new(3000), 0.0
    for session in itertools.count():
        at += dice.expovariate(1 / 50)
        yield at, prompt, dice.randint(20, 300), session


def chats(systems, turns, think_ms, begin):
    def trace(dice, prompts):
        texts = [prompts.new(dice.randint(*systems[1])) for _ in range(systems[0])]
        at = 0.0
        for session in itertools.count():
            at = begin(dice, at, session)
            blocks, time = list(texts[popular(dice, systems[0], 0.8)]), at
            for _ in range(dice.randint(*turns)):
                blocks = blocks + prompts.new(dice.randint(64, 800))
                answer = dice.randint(64, 600)
                yield time, blocks, answer, session
                blocks = blocks + prompts.new(answer)
                time += answer * 25 + dice.expovariate(1 / think_ms)

    return trace


def steadily(dice, at, _):
    return at + dice.expovariate(1 / 600)


def in_waves(dice, at, _):
    return at + dice.expovariate(1 / (400 * (1 + 0.9 * math.sin(at / 600000 * 2 * math.pi))))


def at_once(_, at, session):
    return at + 30000 if session % 250 == 0 else at


TRACES = {
    "bigsystem": bigsystem,
    "branches": branches,
    "bursts": chats((10, (500, 3000)), (1, 3), 60000, at_once),
    "compaction": compaction,
    "documents": documents,
    "oneoff": oneoff,
    "retrieval": retrieval,
    "same": same,
    "tenants": chats((50, (2000, 8000)), (1, 10), 15000, steadily),
    "waves": chats((5, (300, 1500)), (1, 8), 20000, in_waves),
}


def main():
    folder, seed = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    folder.mkdir(parents=True, exist_ok=True)
    for name, trace in TRACES.items():
        rows = list(itertools.islice(trace(random.Random(f"{name} {seed}"), Prompts()), 2 * REQUESTS))
        rows.sort(key=lambda row: row[0])
        with open(folder / f"{name}.jsonl", "w") as out:
            for time, blocks, answer, session in rows[:REQUESTS]:
                line = {
                    "timestamp": round(time, 1),
                    "input_length": len(blocks) * BLOCK,
                    "output_length": answer,
                    "hash_ids": blocks,
                    "session_id": session,
                    "block_size": BLOCK,
                }
                out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
