#!/bin/sh
# Times the linter on 10,000 templates of 4 KB, in turns with the peers that are installed.
#
#   cargo build --release -p headwater-cli
#   python3 -m venv /somewhere/peers && /somewhere/peers/bin/pip install pcdlint prompt-cache-doctor
#   PATH=/somewhere/peers/bin:$PATH tests/lint-speed/run.sh target/release/headwater
set -eu
here=$(cd "$(dirname "$0")" && pwd)
headwater=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
rounds=${2:-5}
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
python3 "$here/corpus.py" "$corpus/all"
mkdir "$corpus/one"
cp "$corpus/all/part000/t00001.j2" "$corpus/one/"
cd "$corpus"

timed() {
    name=$1
    shift
    start=$(date +%s%N)
    "$@" >/dev/null 2>&1 || true
    end=$(date +%s%N)
    echo "$name $(((end - start) / 1000000)) ms"
}

# The first one warms the file cache.
"$headwater" lint all >/dev/null 2>&1 || true
for _ in $(seq "$rounds"); do
    timed headwater-all "$headwater" lint --format concise all
    timed headwater-one "$headwater" lint one
    command -v pcd >/dev/null && timed pcd-all pcd scan all
    command -v pcdlint >/dev/null && timed pcdlint-all pcdlint all
    command -v true >/dev/null && timed nothing true
done
