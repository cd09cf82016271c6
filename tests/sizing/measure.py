"""What a router takes on this machine: memory and descriptors for each open stream, processor time
for each request and for each event of a stream. The figures that docs/deploy/README.md sizes by.

    cargo build --release -p headwater-router
    python3 tests/sizing/measure.py target/release/headwater-router [STREAMS]

Needs Linux and Python 3.9 or newer, and nothing else. Mock workers and clients run in this
process, so processor times are those of a machine that does other work as well; memory and
descriptors do not depend on that.
"""

import asyncio
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

REQUESTS = 2000
SECONDS = 10
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
TEXT = b'data: {"content":"a token"}\n\n'
EVENT = b"%x\r\n%s\r\n" % (len(TEXT), TEXT)
SIGNATURE = (
    "Prefix-Signature: v=1, b=16, n=2461, fp=:q83vASNFZ4k=:, "
    "r=(64;h=:q83vASNFZ4k=: 128;h=:q83vASNFZ4o=: 150;h=:q83vASNFZ4s=: 152;h=:q83vASNFZ4w=:)\r\n"
)


async def worker(reader, writer):
    """An engine: streams while the client is there, or answers at once."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = re.search(r"content-length: (\d+)", head)
            await reader.readexactly(int(length.group(1)) if length else 0)
            if "/stream" not in head.split("\r\n")[0]:
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                await writer.drain()
                continue
            writer.write(HEAD)
            while True:
                writer.write(EVENT)
                await writer.drain()
                await asyncio.sleep(1)
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
        writer.close()


def request(path, body="{}"):
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\n{SIGNATURE}Content-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


async def stream(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 16)
    writer.write(request("/stream"))
    await reader.readuntil(b"\n\n\r\n")

    async def read_on():
        while await reader.read(1 << 16):
            pass

    return writer, asyncio.ensure_future(read_on())


async def ask(port, count):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        writer.write(request("/ask"))
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(2)
    writer.close()


def resident_kib(pid):
    text = open(f"/proc/{pid}/status", encoding="ascii").read()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1))


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


async def measure(router, streams):
    servers = [await asyncio.start_server(worker, "127.0.0.1", 0, backlog=4096) for _ in range(4)]
    ports = [server.sockets[0].getsockname()[1] for server in servers]
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "router.yaml")
        workers = ", ".join(f"http://127.0.0.1:{port}" for port in ports)
        with open(config, "w", encoding="ascii") as file:
            file.write(f"listen: 127.0.0.1:0\nthreads: 1\nworkers: [{workers}]\n")
            file.write(f"limits: {{connections: {streams + 100}}}\n")
            # Otherwise most of the streams would be held: the workers do no prefill.
            file.write("placement: {hold: {order: off}}\n")
        began = time.monotonic()
        process = subprocess.Popen([router, "--config", config], stderr=subprocess.PIPE, text=True)
        try:
            line = process.stderr.readline()
            port = int(re.search(r"listening on http://[^:]+:(\d+)", line).group(1))
            await ask(port, 1)
            print(f"start to the first answer   {(time.monotonic() - began) * 1000:8.0f} ms")
            pid = process.pid
            await asyncio.sleep(2)
            idle, files = resident_kib(pid), descriptors(pid)
            print(f"resident when idle          {idle / 1024:8.1f} MiB")

            await ask(port, 200)
            before = cpu_seconds(pid)
            await asyncio.gather(*(ask(port, REQUESTS // 8) for _ in range(8)))
            per_request = (cpu_seconds(pid) - before) / REQUESTS
            print(f"processor for a request     {per_request * 1e6:8.0f} µs")

            idle, files = resident_kib(pid), descriptors(pid)
            opened = []
            for start in range(0, streams, 100):
                count = min(100, streams - start)
                opened += await asyncio.gather(*(stream(port) for _ in range(count)))
            await asyncio.sleep(2)
            grown, more = resident_kib(pid) - idle, descriptors(pid) - files
            print(f"resident for an open stream {grown / streams:8.1f} KiB of {streams}")
            print(f"descriptors for a stream    {more / streams:8.2f}")
            before = cpu_seconds(pid)
            await asyncio.sleep(SECONDS)
            per_event = (cpu_seconds(pid) - before) / (SECONDS * streams)
            print(f"processor for an event      {per_event * 1e6:8.1f} µs")
            for writer, reading in opened:
                reading.cancel()
                writer.close()
        finally:
            # Its drain would wait for streams that this process no longer serves.
            process.kill()
            process.wait(10)
    for server in servers:
        server.close()


def main():
    router = sys.argv[1]
    streams = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    # Two ends of each stream at the workers and the clients, both in this process.
    wanted = 4 * streams + 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        sys.exit(f"{streams} streams need {wanted} descriptors; `ulimit -Hn` is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    asyncio.run(measure(router, streams))


if __name__ == "__main__":
    main()
