#!/bin/sh
# Lints the 71 chat templates of the field and compares with the reviewed findings:
# tests/chat-templates/run.sh [--write]
#
# Needs the network once (38 MB), curl, Python 3.9 or newer, and a built `headwater` (`HEADWATER` names it); README.md says
# what was reviewed. The templates belong to their models and are never copied into the repository.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
headwater=${HEADWATER:-cargo run --quiet --release --package headwater-cli --}
templates=$("$here/fetch.sh")

cd "$root"
python3 "$here/compare.py" "$templates" "$here/findings.tsv" "$@" -- $headwater
