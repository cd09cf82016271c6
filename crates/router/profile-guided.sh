#!/bin/sh
# Builds the router guided by a profile of its own work: the same program with a fifth fewer instructions for
# a small request (docs/router-performance.md).
#   crates/router/profile-guided.sh [FILE]      target/profile-guided/headwater-router without an argument
#
# Two release builds and half a minute of load in between, some six minutes on two CPUs; ports 21001 to 21004, 22001 and
# 23001 must be free. Needs the compiler's own llvm-profdata: rustup component add llvm-tools. A profile is of
# one compiler and one state of the code, so none is kept. TARGET builds for another target that runs here.
set -eu
cd "$(dirname "$0")/../.."
host=$(rustc -vV | sed -n 's/^host: //p')
profdata=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
[ -x "$profdata" ] || { echo "no $profdata: rustup component add llvm-tools" >&2; exit 1; }
triple=${TARGET:-$host}
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
out=${1:-$target/profile-guided/headwater-router}
workers='' router='' counts=$(mktemp -d)
trap 'kill $workers $router 2>/dev/null || true; rm -rf "$counts"' EXIT

# With a target, flags go to the router and not to what builds it.
build() { # FOLDER FLAGS
    RUSTFLAGS="${RUSTFLAGS:-} $2" CARGO_TARGET_DIR="$target/$1" \
        cargo build --release --locked -p headwater-router --bin headwater-router --target "$triple"
}

cargo build --release --locked -p headwater-router --example load --example mock_workers
build profiled "-Cprofile-generate=$counts"
"$target/release/examples/mock_workers" --ports 21001,21002,21003,21004 2>"$counts/workers" &
workers=$!
"$target/profiled/$triple/release/headwater-router" --threads 1 --listen 127.0.0.1:22001 \
    --workers http://127.0.0.1:21001,http://127.0.0.1:21002,http://127.0.0.1:21003,http://127.0.0.1:21004 2>"$counts/log" &
router=$!
# It says where it listens once it does.
until [ -s "$counts/log" ] || ! kill -0 $router 2>/dev/null; do sleep 0.2; done
kill -0 $router || { cat "$counts/log" >&2; exit 1; }
load() { "$target/release/examples/load" --targets 127.0.0.1:22001 --secs 5 "$@" >"$counts/answers"; }
load --conns 64 --size 1024
load --conns 64 --size 16384
load --conns 32 --size 65536
load --conns 8 --size 524288
load --conns 64 --size 4096 --chunks 64 --delay-us 5000
# It writes the profile as it ends.
kill -TERM $router
wait $router
"$profdata" merge -o "$counts/profile" "$counts"/*.profraw
build guided "-Cprofile-use=$counts/profile"
mkdir -p "$(dirname "$out")"
cp "$target/guided/$triple/release/headwater-router" "$out"
echo "$out"
