#!/bin/sh
# Runs every policy over every trace, number of workers, cache and load, and sums up:
#   tests/simulation/grid.sh FOLDER_OF_TRACES FOLDER_FOR_RESULTS [OPTION…]
#
# DOC=docs/simulation.md writes the two main tables into that file, between its marks. Several seeds:
#   for seed in 1 2 3; do tests/simulation/grid.sh TRACES RESULTS/$seed --seed $seed; done
#   tests/simulation/summarize.py --spread RESULTS/*
#
# Options go to `headwater simulate`, such as `--rungs 8` or `--set ageing=0.5`. The environment may
# narrow the grid: WORKERS (4,8,16,32), LOADS (0.35,0.6), POLICIES (all), HEADWATER (the command).
#
# Traces, zstd or not, by the first part of their names; what is missing is left out:
#   mooncake_conversation…, mooncake_synthetic…   kvcache-ai/Mooncake, FAST25-release/traces (Apache-2.0)
#   tool_like…      the conversation trace with generated tool calls
#   weka_cc…merged… callanjfox/kv-cache-tester, traces/ (Apache-2.0), merged on one axis of time
#   lm_agents…      LMCache/lmcache-agent-trace (Apache-2.0), as chained hashes of blocks
set -eu

traces=${1:?usage: grid.sh FOLDER_OF_TRACES FOLDER_FOR_RESULTS [OPTION…]}
results=${2:?usage: grid.sh FOLDER_OF_TRACES FOLDER_FOR_RESULTS [OPTION…]}
shift 2
mkdir -p "$results"
rm -f "$results"/*.json

run() { # NAME CACHES TRACE
    [ -e "$3" ] || case $3 in rag-like | shared-prefix) ;; *) return 0 ;; esac
    name=$1 caches=$2 trace=$3
    shift 3
    ${HEADWATER:-headwater} simulate "$trace" --policy "${POLICIES:-all}" --workers "${WORKERS:-4,8,16,32}" \
        --cache-tokens "$caches" --load "${LOADS:-0.35,0.6}" --format json -o "$results/$name.json" "$@"
}

for file in "$traces"/mooncake_conversation* "$traces"/mooncake_synthetic* "$traces"/tool_like*; do
    run "$(basename "$file" | cut -d. -f1)" 500000,3000000 "$file" "$@"
done
for file in "$traces"/weka_cc*merged*; do
    run "$(basename "$file" | cut -d. -f1)" 1500000,4000000 "$file" "$@"
done
for file in "$traces"/lm_agents*; do
    run "$(basename "$file" | cut -d. -f1)" 250000,1000000 "$file" "$@"
done
run rag-like 250000,1000000 rag-like "$@"
run shared-prefix 250000,1000000 shared-prefix "$@"

python3 "$(dirname "$0")/summarize.py" "$results"/*.json
[ -z "${DOC:-}" ] || python3 "$(dirname "$0")/summarize.py" --into "$DOC" "$results"/*.json
