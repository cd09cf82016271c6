#!/usr/bin/env bash
# Lets a CUDA build of torch load on a machine without CUDA: cuda_stubs.sh VENV
#
# Writes a library under the name of each one that torch misses. Behind all of them every
# function returns 100, which CUDA programs read as "no device". Good for tests on a CPU only.
set -euo pipefail

venv=${1:?usage: cuda_stubs.sh VENV}
folder=$(echo "$venv"/lib/python3*/site-packages/torch/lib)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -f "$folder/libheadwater_stub.so"

# Names of functions: those that torch's libraries ask for (U, w) and none of them has.
symbols() { nm --dynamic "$1" "$folder"/*.so | awk "$2" | sed 's/@.*//' | sort -u; }
symbols --undefined-only '$1 == "U" || $1 == "w" { print $2 }' >"$work/asked"
symbols --defined-only 'NF == 3 { print $3 }' >"$work/there"
comm -23 "$work/asked" "$work/there" |
    grep -E '^(__cuda|cu[A-Z]|cu(da|blas|dnn|fft|rand|sparse|solver|pti|File)|nccl|nvrtc|nvJitLink|nvtx|nvshmem|mag)' |
    sed 's/.*/int &(void) { return 100; }/' >"$work/stub.c"
# In a library of its own: of a library that is asked for by name the loader also expects versions.
cc -shared -nostdlib -fPIC -fno-builtin -w "$work/stub.c" -o "$folder/libheadwater_stub.so"

objdump -p "$folder"/*.so | awk '$1 == "NEEDED" { print $2 }' | sort -u |
    grep -E '^lib(cu|nccl|nvrtc|nvJitLink|nvshmem|nvToolsExt)' >"$work/libraries"
while read -r name; do
    [ -e "$folder/$name" ] || cc -shared -nostdlib -Wl,-soname,"$name" -Wl,--no-as-needed \
        -Wl,-rpath,'$ORIGIN' -o "$folder/$name" "$folder/libheadwater_stub.so"
done <"$work/libraries"
echo "$(wc -l <"$work/stub.c") functions of CUDA stubbed, $(wc -l <"$work/libraries") libraries"
