#!/bin/sh
# Counts the user-mode instructions of one request of 1 KiB in the router's serving thread:
#   tests/router-performance/instructions.sh [WORKERS]      4 workers without an argument
#
# ROUTER names another program than the one of this build. Needs valgrind. Nothing here depends on how busy the machine is.
set -eu
cd "$(dirname "$0")/../.."
CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo build -q --release -p headwater-router --bins --examples
built=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release
folder=$(mktemp -d)
requests=3000 last=$((21000 + ${1:-4}))

"$built/examples/mock_workers" --ports "$(seq -s, 21001 "$last")" &
workers=$!
valgrind -q --tool=callgrind --instr-atstart=no --separate-threads=yes --callgrind-out-file="$folder/out" \
    "${ROUTER:-$built/headwater-router}" --threads 1 --listen 127.0.0.1:22001 \
    --workers "$(seq -s, -f 'http://127.0.0.1:%g' 21001 "$last")" 2>"$folder/log" &
router=$!
trap 'kill -9 $workers $router 2>/dev/null' EXIT
load() { "$built/examples/load" --targets 127.0.0.1:22001 --conns 16 --secs 60 --size 1024 --max-requests "$1"; }
until curl -s -o "$folder/answer" -d '{}' http://127.0.0.1:22001/v1/x; do sleep 0.2; done
load 1500 >"$folder/warm"
callgrind_control -i on "$router" >"$folder/on" 2>&1
load "$requests"
callgrind_control -d "$router" >"$folder/dumped" 2>&1
for thread in "$folder"/out.1-*; do
    sed -n 's/^summary: \([0-9]*\).*/\1/p' "$thread"
done | sort -n | tail -1 | awk -v n="$requests" '{ printf "%d instructions for each request\n", $1 / n }'
echo "where they are: callgrind_annotate --inclusive=yes on the largest of $folder/out.1-*"
