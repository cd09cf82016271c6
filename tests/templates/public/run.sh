#!/bin/sh
# Holds our rendering to Jinja2's on the 71 chat templates that llama.cpp carries:
#
#     tests/templates/public/run.sh
#
# Needs the network once (some 38 MB), curl and Python 3.9 or newer; README.md says what is compared.
# Everything that is fetched goes into a cache folder outside of the repository.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${HEADWATER_TEMPLATES:-${XDG_CACHE_HOME:-$HOME/.cache}/headwater/templates}
mkdir -p "$cache"

templates=$("$here/../../chat-templates/fetch.sh")

venv=$cache/python-jinja2-3.1.6
if ! "$venv/bin/python" -c 'import jinja2; assert jinja2.__version__ == "3.1.6"' 2>/dev/null; then
    echo "fetching jinja2 3.1.6"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet jinja2==3.1.6
fi

cd "$here/../../.."
cargo build --quiet --package headwater --example render
target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
"$venv/bin/python" "$here/compare.py" "$target/debug/examples/render" "$templates"
