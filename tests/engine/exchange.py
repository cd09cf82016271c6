"""One turn of a conversation: sign what has been said, send it, read what the engine counted."""

import json
import re
import subprocess
import urllib.request
from dataclasses import dataclass
from enum import Enum

from dialogue import Conversation
from processes import binary

ANSWER_TOKENS = 32
# The model's weights are random. Letters keep its answers text that a person could have typed.
ANSWER_GRAMMAR = "root ::= [a-z] [a-z ]{20,200}"
ROUTE = re.compile(r"w=:(?P<tag>[A-Za-z0-9+/=]+):, matched=(?P<matched>\d+), reason=(?P<reason>\w+)")


@dataclass
class Answer:
    """What came back, with the engine's own figures."""

    text: str
    prompt_tokens: int
    cached_tokens: int
    route: str | None  # the `Prefix-Route` header as it came


@dataclass
class Signed:
    """What `headwater sign` makes of a conversation so far."""

    text: str
    tokens: int
    headers: dict[str, str]


def signed(conversation: Conversation) -> Signed:
    """Runs `headwater sign`; with the route of the last answer, if the conversation remembers one."""
    command = [binary("headwater"), "sign", "-", "--format", "json"]
    if conversation.route:
        route, tokens = conversation.route
        command += ["--route", route, "--route-tokens", str(tokens)]
    prompt_file = json.dumps(conversation.prompt_file())
    done = subprocess.run(command, input=prompt_file, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"`{' '.join(command)}` failed: {done.stderr}")
    result = json.loads(done.stdout)
    return Signed(result["text"], result["tokens"], result["headers"])


def send(url: str, text: str, headers: dict[str, str]) -> Answer:
    """Sends one prompt to an engine or a router."""
    body = {"model": "tiny", "prompt": text, "max_tokens": ANSWER_TOKENS, "seed": 1, "grammar": ANSWER_GRAMMAR}
    request = urllib.request.Request(
        f"{url}/v1/completions", json.dumps(body).encode(), {"content-type": "application/json", **headers}
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        route, reply = response.headers.get("Prefix-Route"), json.load(response)
    usage = reply["usage"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    return Answer(reply["choices"][0]["text"], usage["prompt_tokens"], cached, route)


def parsed_route(answer: Answer) -> re.Match[str]:
    """The parts of an answer's `Prefix-Route`; every answer through a router must have one."""
    found = ROUTE.fullmatch(answer.route or "")
    if found is None:
        raise SystemExit(f"expected `Prefix-Route: w=:…:, matched=…, reason=…`, got `{answer.route}`")
    return found


class Echo(Enum):
    """Whether the next turn of a conversation says where the last answer came from."""

    OFF = "off"
    ON = "on"


def hold_turn(conversation: Conversation, turn: int, url: str, echo: Echo = Echo.OFF) -> Answer:
    """Asks question `turn` (from 0) at `url` and adds the engine's answer to the conversation."""
    conversation.ask(turn)
    prompt = signed(conversation)
    answer = send(url, prompt.text, prompt.headers)
    conversation.answer(answer.text)
    if echo is Echo.ON and answer.route:
        conversation.route = (answer.route, prompt.tokens)
    return answer
