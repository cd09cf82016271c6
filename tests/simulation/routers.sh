#!/bin/sh
# Several routers that share nothing, against one: the table of docs/simulation.md.
#   tests/simulation/routers.sh FOLDER_OF_TRACES FOLDER_FOR_RESULTS [OPTION…]
#
# Options go to `headwater simulate`. The environment may narrow it: ROUTERS (2,4,8), LOADS
# (0.35,0.6), REQUESTS (12000), REPORTS (0 500: milliseconds between two reports; 0 means at once),
# HEADWATER (the command). Traces as for grid.sh.
set -eu

traces=${1:?usage: routers.sh FOLDER_OF_TRACES FOLDER_FOR_RESULTS [OPTION…]}
results=${2:?usage: routers.sh FOLDER_OF_TRACES FOLDER_FOR_RESULTS [OPTION…]}
shift 2
mkdir -p "$results"
rm -f "$results"/*.json

run() { # NAME OPTION…
    name=$1
    shift
    for trace in mooncake_conversation=500000,3000000 mooncake_synthetic=500000,3000000 \
        weka_cc=1500000,4000000 lm_agents=250000,1000000; do
        for file in "$traces/${trace%%=*}"*; do
            case $file in */weka_cc*merged* | */mooncake_* | */lm_agents*) ;; *) continue ;; esac
            [ -e "$file" ] || continue
            ${HEADWATER:-headwater} simulate "$file" --policy headwater --workers 8 \
                --cache-tokens "${trace#*=}" --load "${LOADS:-0.35,0.6}" --requests "${REQUESTS:-12000}" \
                --format json -o "$results/$name.${trace%%=*}.json" "$@"
        done
    done
}

run one "$@"
for routers in $(echo "${ROUTERS:-2,4,8}" | tr , ' '); do
    for every in ${REPORTS:-0 500}; do
        load="--reported-load --report-every-ms $every"
        # shellcheck disable=SC2086 # words on purpose
        run "sharded-load$every.$routers" --routers "$routers" --split affinity $load "$@"
        # shellcheck disable=SC2086
        run "echo-load$every.$routers" --routers "$routers" --echo $load "$@"
        # shellcheck disable=SC2086
        run "prior-load$every.$routers" --routers "$routers" $load "$@"
    done
    # What vLLM tells in the header of an answer, besides reports every 500 ms.
    run "sharded-answers.$routers" --routers "$routers" --split affinity --report-with-answers "$@"
    run "echo-answers.$routers" --routers "$routers" --echo --report-with-answers "$@"
    run "echo.$routers" --routers "$routers" --echo "$@"
    run "nothing.$routers" --routers "$routers" "$@"
done

python3 "$(dirname "$0")/routers.py" "$results"
