"""Runs one llama.cpp HTTP server until SIGTERM or until its parent is gone.

Usage: llama_server.py MODEL.gguf PORT --slots N --tokens-per-slot N
"""

import argparse
import os
import signal
import sys
import threading

import xllamacpp


def leave_with_parent() -> None:
    """The parent holds the other end of stdin: when it dies, however it dies, this process ends too."""
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("model")
    arguments.add_argument("port", type=int)
    arguments.add_argument("--slots", type=int, required=True)
    arguments.add_argument("--tokens-per-slot", type=int, required=True)
    args = arguments.parse_args()

    params = xllamacpp.CommonParams()
    params.model.path = args.model
    params.hostnames, params.port = ["127.0.0.1"], args.port
    # llama.cpp shares its context out among the slots, and each slot caches one conversation.
    params.n_parallel = args.slots
    params.n_ctx = args.slots * args.tokens_per_slot
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.endpoint_metrics = True
    server = xllamacpp.Server(params)
    print("listening on", server.listening_address, flush=True)

    threading.Thread(target=leave_with_parent, daemon=True).start()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    os._exit(0)


if __name__ == "__main__":
    main()
