#!/usr/bin/env bash
# Runs Headwater in front of two real llama.cpp servers and checks their own cache counters.
#
# Needs Python 3.11 or newer and the release binaries:
#   cargo build --release -p headwater-router -p headwater-cli
# HEADWATER_BIN_DIR names the folder of the binaries (default: target/release),
# HEADWATER_ENGINE_CACHE the folder for the Python packages and the model (default: target/engine).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
target="${CARGO_TARGET_DIR:-$root/target}"
export HEADWATER_BIN_DIR="${HEADWATER_BIN_DIR:-$target/release}"
cache="${HEADWATER_ENGINE_CACHE:-$target/engine}"
venv="$cache/venv"

mkdir -p "$cache"
# A half-made environment has no mark, so it is made again.
if ! cmp -s "$here/requirements.txt" "$venv/installed.txt"; then
    rm -rf "$venv"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$venv/installed.txt"
fi

"$venv/bin/python" "$here/tiny_model.py" "$cache/tiny.gguf"
exec "$venv/bin/python" "$here/suite.py" --model "$cache/tiny.gguf" "$@"
