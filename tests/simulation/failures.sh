#!/bin/sh
# A worker lost for two minutes, and one added, under load: the table of docs/simulation.md.
#   tests/simulation/failures.sh FOLDER_OF_TRACES FOLDER_FOR_RESULTS [OPTION…]
#
# The environment may change POLICIES, LOAD (0.6) and HEADWATER (the command). Each run is compared
# with the same run without an incident. Traces as for grid.sh.
set -eu

traces=${1:?usage: failures.sh FOLDER_OF_TRACES FOLDER_FOR_RESULTS [OPTION…]}
results=${2:?usage: failures.sh FOLDER_OF_TRACES FOLDER_FOR_RESULTS [OPTION…]}
shift 2
here=$(dirname "$0")
mkdir -p "$results"
rm -f "$results"/*.json

for trace in mooncake_conversation=3000000 weka_cc=4000000 lm_agents=1000000; do
    for file in "$traces/${trace%%=*}"*; do
        case $file in */weka_cc*merged* | */mooncake_* | */lm_agents*) ;; *) continue ;; esac
        for scenario in none lost_and_back added; do
            incidents=
            [ $scenario = none ] || incidents="--scenario $here/$scenario.yaml"
            # shellcheck disable=SC2086 # words on purpose
            ${HEADWATER:-headwater} simulate "$file" --workers 8 --load "${LOAD:-0.6}" \
                --policy "${POLICIES:-headwater,headwater-no-hold,llm-d,sglang,dynamo,session-hash}" \
                --cache-tokens "${trace#*=}" --format json --over-time $incidents \
                -o "$results/${trace%%=*}.$scenario.json" "$@"
        done
    done
done

python3 "$here/failures.py" "$results"
