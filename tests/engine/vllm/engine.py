"""One vLLM engine on the CPU: started, asked, listened to, stopped."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import msgspec
import zmq

MODEL = "tiny"
MAX_TOKENS = 8192
# Importing vLLM three times over takes a minute, more on a busy machine.
START_SECONDS = 900
STOP_SECONDS = 60
ANSWER_SECONDS = 300
EVENT_SECONDS = 30
LOST_EVENTS = 10


class Engine:
    """A running engine. Its answers come over HTTP, its events over ZeroMQ."""

    def __init__(self, url: str, events: zmq.Socket):
        self.url = url
        self.events = events
        self.stored: list[int] = []

    def post(self, path: str, body: dict) -> dict:
        data = json.dumps(body, ensure_ascii=False).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            sys.exit(f"{path}: {error}: {error.read().decode(errors='replace')[:500]}")

    def listen(self) -> None:
        """Returns once events arrive: the first are lost, while the engine does not know that we listen."""
        for number in range(LOST_EVENTS):
            self.ask("completions", {"prompt": f"{number} " * 64, "max_tokens": 1})
            if self.events.poll(2000):
                return
        sys.exit("the engine sends no events")

    def forget(self) -> None:
        """Empties the prefix cache."""
        if not self.post("/reset_prefix_cache", {}).get("success"):
            sys.exit("the engine did not empty its cache")

    def ask(self, endpoint: str, body: dict) -> tuple[int, int]:
        """Tokens of the prompt, and how many of them came from the cache."""
        paths = {"completions": "/v1/completions", "chat": "/v1/chat/completions"}
        self.stored = []
        usage = self.post(paths[endpoint], {"model": MODEL, **body})["usage"]
        return usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]

    def stored_blocks(self, count: int) -> list[int]:
        """The names of the blocks stored since the last question, once there are `count` of them."""
        until = time.monotonic() + EVENT_SECONDS
        while len(self.stored) < count and time.monotonic() < until:
            if self.events.poll(1000):
                self.receive()
        while self.events.poll(0):
            self.receive()
        return self.stored

    def receive(self) -> None:
        _, _, payload = self.events.recv_multipart()
        _, events, *_ = msgspec.msgpack.decode(payload)
        for event in events:
            if event["type"] == "AllBlocksCleared":
                self.stored = []
            elif event["type"] == "BlockStored":
                self.stored += event["block_hashes"]


@contextmanager
def engine(model: Path, block: int, log: Path) -> Iterator[Engine]:
    """Runs an engine with blocks of `block` tokens for the length of a `with` block."""
    events = zmq.Context.instance().socket(zmq.SUB)
    # The engine connects to us, so nothing is published to other machines, and nothing is missed.
    event_port = events.bind_to_random_port("tcp://127.0.0.1")
    events.subscribe(b"")
    url = f"http://127.0.0.1:{(port := free_port())}"
    with log.open("wb") as output:
        # A session of its own: the engine's three processes are stopped together.
        process = subprocess.Popen(
            command(model, block, port, event_port),
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        wait_until_healthy(url, process, log)
        running = Engine(url, events)
        running.listen()
        yield running
    finally:
        stop(process)
        events.close(0)


def command(model: Path, block: int, port: int, event_port: int) -> list[str]:
    events = {
        "enable_kv_cache_events": True,
        "publisher": "zmq",
        "endpoint": f"tcp://127.0.0.1:{event_port}",
        "topic": "kv-events",
    }
    # One block is the engine's own. Four prompts of the largest size fit.
    blocks = 4 * MAX_TOKENS // block + 1
    vllm = Path(sys.executable).parent / "vllm"
    return f"""
        {sys.executable} {vllm} serve {model} --served-model-name {MODEL}
        --host 127.0.0.1 --port {port}
        --load-format dummy --dtype bfloat16 --seed 0 --enforce-eager
        --max-model-len {MAX_TOKENS} --max-num-seqs 4 --max-num-batched-tokens 2048
        --enable-prefix-caching --block-size {block} --num-gpu-blocks-override {blocks}
        --prefix-caching-hash-algo sha256_cbor
        --enable-prompt-tokens-details --enable-auto-tool-choice --tool-call-parser hermes
        --kv-events-config
    """.split() + [json.dumps(events)]


def environment() -> dict[str, str]:
    given = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return given | {
        "PATH": path,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        # The cache can be emptied over HTTP.
        "VLLM_SERVER_DEV_MODE": "1",
        # In GiB, whole ones; the number of blocks takes less of it.
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_healthy(url: str, process: subprocess.Popen, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    sys.exit(f"the engine did not start; the end of {log}:\n{log.read_text(errors='replace')[-3000:]}")


def stop(process: subprocess.Popen) -> None:
    """Asks the engine to stop, then makes sure of all of its processes."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
