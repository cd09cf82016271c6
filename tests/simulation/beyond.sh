#!/bin/sh
# Fleets that the grid does not have: few slots, many workers. The table of docs/simulation.md.
#   tests/simulation/beyond.sh FOLDER_OF_TRACES [OPTION…]
#
# Options go to `headwater simulate`. HEADWATER names the command. Traces as for grid.sh.
set -eu

traces=${1:?usage: beyond.sh FOLDER_OF_TRACES [OPTION…]}
shift
here=$(dirname "$0")
policies=${POLICIES:-headwater,llm-d,least-requests,session-hash,sglang,dynamo-tuned}

run() { # TRACE OPTION…
    trace=$1
    shift
    ${HEADWATER:-headwater} simulate "$traces/$trace"* --policy "$policies" "$@"
}

run lm_agents --requests 3000 --workers 8,4 --engine "$here/few_slots.yaml" "$@"
run lm_agents --requests 3000 --workers 8 --engine "$here/few_slots.yaml" --reported-load "$@"
run mooncake_conversation --requests 8000 --workers 32,64,128 --cache-tokens 100000,300000 "$@"
