"""The proxies that are measured beside the router: how each is set up, started and looked at."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")

NGINX = """worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/errors;
worker_rlimit_nofile 20000;
events {{ worker_connections 10000; }}
http {{
  access_log off; client_max_body_size 0; client_body_buffer_size 1m; keepalive_requests 100000000;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  upstream workers {{ hash $http_x_session_id consistent; {servers} keepalive 256; keepalive_requests 100000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      proxy_pass http://workers; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $http_host; proxy_buffering off; proxy_read_timeout 600s;
      proxy_next_upstream error timeout non_idempotent;
    }}
  }}
}}
"""

HAPROXY = """global
  nbthread 1
  maxconn 9000
defaults
  mode http
  timeout connect 2s
  timeout client 600s
  timeout server 600s
  option http-no-delay
  option redispatch 1
  retries 2
  http-reuse always
frontend clients
  bind 127.0.0.1:{port} backlog 4096
  default_backend workers
backend workers
  balance hdr(x-session-id)
  hash-type consistent
  hash-balance-factor 125
  option httpchk GET /health
{servers}
"""


class Proxy:
    """A process on one CPU that forwards to workers on 127.0.0.1."""

    def __init__(self, name, port, folder, command, setup=None):
        self.name, self.port, self.folder = name, port, os.path.join(folder, name)
        self.command, self.setup = command, setup
        self.process = None

    def start(self, workers, cpu):
        """Starts it; gives the seconds until it answered a request."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        if self.setup:
            self.setup(self, workers)
        pin = [] if cpu is None else ["taskset", "-c", str(cpu)]
        log = open(os.path.join(self.folder, "log"), "wb")
        began = time.monotonic()
        self.process = subprocess.Popen(
            pin + self.command(self, workers), stdout=log, stderr=log, start_new_session=True
        )
        while time.monotonic() - began < 20 and self.process.poll() is None:
            if answers(self.port):
                return time.monotonic() - began
            time.sleep(0.001)
        raise SystemExit(f"{self.name} does not answer; its words are in {self.folder}/log")

    def stop(self):
        if self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def processes(self):
        """The process and its children."""
        found, wanted = [], {self.process.pid}
        for name in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
            try:
                with open(f"/proc/{name}/stat") as stat:
                    parent = int(stat.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if int(name) in wanted or parent in wanted:
                wanted.add(int(name))
                found.append(int(name))
        return found

    def cpu_seconds(self):
        """CPU time of all threads that live."""
        nanos = 0
        for process in self.processes():
            for thread in os.listdir(f"/proc/{process}/task"):
                try:
                    with open(f"/proc/{process}/task/{thread}/schedstat") as stat:
                        nanos += int(stat.read().split()[0])
                except OSError:
                    pass
        return nanos / 1e9

    def resident_kib(self):
        total = 0
        for process in self.processes():
            with open(f"/proc/{process}/status") as status:
                total += sum(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
        return total


def answers(port):
    request = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as stream:
            stream.sendall(request)
            return b" 200 " in stream.recv(64)
    except OSError:
        return False


def write(proxy, name, text):
    with open(os.path.join(proxy.folder, name), "w") as file:
        file.write(text)


def router(name, port, folder, binary):
    def command(proxy, workers):
        urls = ",".join(f"http://127.0.0.1:{worker}" for worker in workers)
        return [binary, "--threads", "1", "--listen", f"127.0.0.1:{port}", "--workers", urls]

    return Proxy(name, port, folder, command)


def nginx(name, port, folder):
    def setup(proxy, workers):
        servers = " ".join(f"server 127.0.0.1:{worker};" for worker in workers)
        write(proxy, "conf", NGINX.format(folder=proxy.folder, port=port, servers=servers))

    def command(proxy, _):
        return [tool("nginx"), "-c", f"{proxy.folder}/conf", "-e", f"{proxy.folder}/errors"]

    return Proxy(name, port, folder, command, setup)


def haproxy(name, port, folder):
    def setup(proxy, workers):
        lines = [f"  server w{worker} 127.0.0.1:{worker} check inter 1s" for worker in workers]
        write(proxy, "conf", HAPROXY.format(port=port, servers="\n".join(lines)))

    return Proxy(name, port, folder, lambda p, _: [tool("haproxy"), "-db", "-f", f"{p.folder}/conf"], setup)


def envoy(name, port, folder, binary):
    def address(number):
        return {"socket_address": {"address": "127.0.0.1", "port_value": number}}

    def setup(proxy, workers):
        kind = "type.googleapis.com/envoy.extensions.filters"
        route = {"cluster": "workers", "timeout": "0s", "hash_policy": [{"header": {"header_name": "x-session-id"}}]}
        hosts = {"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": route}]}
        manager = {
            "@type": f"{kind}.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "in",
            "stream_idle_timeout": "600s",
            "route_config": {"virtual_hosts": [hosts]},
            "http_filters": [{"name": "router", "typed_config": {"@type": f"{kind}.http.router.v3.Router"}}],
        }
        chain = {"filters": [{"name": "http", "typed_config": manager}]}
        endpoints = [{"endpoint": {"address": address(worker)}} for worker in workers]
        cluster = {
            "name": "workers",
            "type": "STATIC",
            "lb_policy": "RING_HASH",
            "connect_timeout": "2s",
            "circuit_breakers": {"thresholds": [{"max_connections": 99999, "max_pending_requests": 99999, "max_requests": 99999}]},
            "load_assignment": {"cluster_name": "workers", "endpoints": [{"lb_endpoints": endpoints}]},
        }
        listeners = [{"name": "in", "address": address(port), "filter_chains": [chain]}]
        write(proxy, "conf.json", json.dumps({"static_resources": {"listeners": listeners, "clusters": [cluster]}}))

    def command(proxy, _):
        return [binary, "-c", f"{proxy.folder}/conf.json", "--concurrency", "1", "--disable-hot-restart", "-l", "warning"]

    return Proxy(name, port, folder, command, setup)


def tool(name):
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if not found:
        raise SystemExit(f"{name} is not installed: apt-get install {name}, or leave it out with --without {name}")
    return found
