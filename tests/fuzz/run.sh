#!/bin/sh
# Fuzzes every target in fuzz_targets/ for a bounded time: tests/fuzz/run.sh SECONDS [TARGET…]
#
# Needs the stable compiler and a C++ compiler (for libFuzzer, which libfuzzer-sys brings along),
# neither cargo-fuzz nor nightly. Fails on a crash, a hang of 10 s or 2 GiB of memory, and leaves the
# input that caused it in artifacts/<target>/; run the printed command to see it again.
#
# To add a target `metrics`: write fuzz_targets/metrics.rs, copy the [[bin]] entry of `header` in
# Cargo.toml, and put a few small inputs, good and bad, into seeds/metrics/. Nothing here changes.
set -eu

seconds=${1:?usage: run.sh SECONDS [TARGET…]}
shift
cd "$(dirname "$0")"

# Coverage counters are a pass of LLVM, which the stable compiler runs when it is asked to. Without
# them libFuzzer only guesses.
export RUSTFLAGS="--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares"
# With the target named, the flags reach neither build scripts nor macros.
host=$(rustc -vV | sed -n 's/^host: //p')
build=${CARGO_TARGET_DIR:-$PWD/target}

cargo build --quiet --locked --release --bins --target "$host" --target-dir "$build"

[ $# -gt 0 ] || set -- $(cd fuzz_targets && ls -- *.rs | sed 's/\.rs$//')
for target in "$@"; do
    mkdir -p "corpus/$target" "artifacts/$target" "seeds/$target"
    echo "fuzzing $target for $seconds s"
    log=artifacts/$target.log
    "$build/$host/release/$target" "corpus/$target" "seeds/$target" \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="artifacts/$target/" >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        echo "$target failed; again: $build/$host/release/$target tests/fuzz/artifacts/$target/<input>" >&2
        exit 1
    }
    grep -q ' cov: ' "$log" || {
        echo "$target ran without coverage, so it proved nothing: see the flags in $0" >&2
        exit 1
    }
    tail -n 1 "$log"
    grep ' cov: ' "$log" | tail -n 1
done
