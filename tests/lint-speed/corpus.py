#!/usr/bin/env python3
"""Writes 10,000 Jinja templates of about 4 KB, the same ones every time."""
import pathlib
import random
import sys

WORDS = "the of and policy answer customer order tool schema result keep never always short polite file line value when if not".split()


def sentence(dice):
    return " ".join(dice.choice(WORDS) for _ in range(dice.randint(6, 16))).capitalize() + "."


def template(dice, number):
    lines = ["You are assistant number %d of a shop." % number]
    if number % 10 == 0:
        lines.insert(0, "It is {{ now }}.")
    while sum(map(len, lines)) < 3900:
        lines.append(sentence(dice))
        if dice.random() < 0.05:
            lines.append("{% if premium %}" + sentence(dice) + "{% endif %}")
        if dice.random() < 0.03:
            lines.append("{% for rule in rules %}- {{ rule }}\n{% endfor %}")
    lines.append("{{ question }}")
    return "\n".join(lines) + "\n"


root = pathlib.Path(sys.argv[1])
count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
dice = random.Random(7)
for number in range(count):
    folder = root / ("part%03d" % (number // 100))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ("t%05d.j2" % number)).write_text(template(dice, number), newline="\n")
