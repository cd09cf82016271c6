"""Child processes of the suite: engines and routers on free ports, always stopped."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Iterator

START_SECONDS = 60
STOP_SECONDS = 10
HERE = Path(__file__).resolve().parent
BIN_DIR = Path(os.environ.get("HEADWATER_BIN_DIR", HERE.parents[1] / "target" / "release")).resolve()


def binary(name: str) -> str:
    """The path of one of the project's own programs."""
    path = BIN_DIR / name
    if not path.is_file():
        sys.exit(f"{path} is missing; build it with `cargo build --release -p headwater-router -p headwater-cli`")
    return str(path)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def child(command: list[str], log: Path) -> Iterator[subprocess.Popen]:
    """Runs a command for the length of a `with` block; its output goes to `log`."""
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_healthy(url: str, process: subprocess.Popen, log: Path) -> None:
    """Returns once `url` answers; gives up with the end of the log."""
    give_up = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < give_up:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    tail = log.read_text(errors="replace")[-3000:]
    sys.exit(f"{url} did not answer; the end of {log}:\n{tail}")


@contextmanager
def engines(model: Path, count: int, slots: int, tokens_per_slot: int, logs: Path) -> Iterator[list[str]]:
    """Fresh llama.cpp servers; yields their URLs once they are ready."""
    with ExitStack() as stack:
        started = []
        for number in range(count):
            port, log = free_port(), logs / f"engine-{number}.log"
            command = [sys.executable, str(HERE / "llama_server.py"), str(model), str(port)]
            command += ["--slots", str(slots), "--tokens-per-slot", str(tokens_per_slot)]
            started.append((f"http://127.0.0.1:{port}", stack.enter_context(child(command, log)), log))
        for url, process, log in started:
            wait_until_healthy(f"{url}/health", process, log)
        yield [url for url, _, _ in started]


@contextmanager
def router(workers: list[str], logs: Path) -> Iterator[str]:
    """One Headwater router in front of `workers`; yields its URL once a worker answers through it."""
    port, log = free_port(), logs / "router.log"
    command = [binary("headwater-router"), "--listen", f"127.0.0.1:{port}", "--workers", ",".join(workers)]
    with child(command, log) as process:
        url = f"http://127.0.0.1:{port}"
        wait_until_healthy(f"{url}/health", process, log)
        yield url
