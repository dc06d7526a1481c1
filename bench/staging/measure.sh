#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# stoker stage beside cp, in turns: one big file out of the page cache into memory, and out of a file system with
# latency (slow_fs.c, needs libfuse3-dev and /dev/fuse).
# Usage: bench/staging/measure.sh STOKER [MIB [ROUNDS]]
set -euo pipefail
stoker=$(realpath "$1")
mib=${2:-1024}
rounds=${3:-5}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
fast=$(mktemp -d /dev/shm/stage-bench.XXXXXX)
cleanup() {
    if mountpoint -q "$scratch/slow"; then fusermount3 -u "$scratch/slow"; fi
    rm -rf "$scratch" "$fast"
}
trap cleanup EXIT
mkdir "$scratch/data" "$scratch/slow"

# seconds COMMAND...: wall time and CPU time of it.
seconds() {
    local TIMEFORMAT='%R %U %S'
    { time "$@" >/dev/null; } 2>&1 | awk '{printf "%s s wall, %.2f s CPU\n", $1, $2 + $3}'
}

# compare TITLE FILE ROUNDS DROP: cp and stage of FILE in turns; with DROP the source's pages leave the cache before each.
compare() {
    local title=$1 file=$2 n=$3 drop=$4 round
    echo "$title"
    for ((round = 0; round < n; round++)); do
        for way in cp stage; do
            if [ "$drop" = drop ]; then dd if="$file" iflag=nocache count=0 status=none; else cat "$file" >/dev/null; fi
            if [ $way = cp ]; then
                echo "  cp     $(seconds cp "$file" "$fast/copy")"
                rm "$fast/copy"
            else
                echo "  stage  $(seconds "$stoker" stage --to "$fast" --no-progress "$file")"
                "$stoker" stage --to "$fast" --evict "$file" >/dev/null
            fi
        done
    done
}

# The signature makes it pass for HDF5; what is behind it does not matter here.
{
    printf '\x89HDF\r\n\x1a\n'
    head -c $((mib * 1048576 - 8)) /dev/urandom
} >"$scratch/data/big.h5"
compare "page cache -> /dev/shm, $mib MiB" "$scratch/data/big.h5" "$rounds" keep

if [ -e /dev/fuse ] && pkg-config --exists fuse3; then
    # shellcheck disable=SC2046  # flags are words
    cc -O2 "$here/slow_fs.c" $(pkg-config --cflags --libs fuse3) -o "$scratch/slow_fs"
    head -c $((128 * 1048576)) "$scratch/data/big.h5" >"$scratch/data/part.h5"
    for ms in 2 10; do
        SLOW_ROOT=$scratch/data SLOW_MS=$ms "$scratch/slow_fs" -o auto_cache,max_threads=64 "$scratch/slow"
        compare "FUSE, $ms ms a read -> /dev/shm, 128 MiB" "$scratch/slow/part.h5" 2 drop
        fusermount3 -u "$scratch/slow"
    done
else
    echo "no FUSE here: the file system with latency was not tried" >&2
fi
