#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How fast `stoker pack` is on a folder: files in the page cache, output in memory. Three runs of each setting.
# Usage: bench/pack_rate.sh FOLDER [BUILD_DIR] [pack option...]
set -euo pipefail
if [ $# -lt 1 ]; then
    echo "Usage: bench/pack_rate.sh FOLDER [BUILD_DIR] [pack option...]" >&2
    exit 64
fi
folder=$1
stoker=${2:-build/release}/bin/stoker
shift
[ $# -eq 0 ] || shift
out=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$out"' EXIT
find -L "$folder" -type f -exec cat {} + >/dev/null
for check in header decode; do
    for encode in keep auto; do
        for run in 1 2 3; do
            # A second pack over the same output would take its records from there.
            rm -rf "$out"/x.stk*
            json=$("$stoker" pack -q --json --encode $encode --check $check "$@" "$folder" "$out/x.stk") ||
                [ $? -eq 2 ]
            sed -n 's/.*"seconds": \([0-9.]*\).*"files": \([0-9]*\).*"source_bytes": \([0-9]*\).*/\1 \2 \3/p' \
                <<<"$json" | awk -v what="--encode $encode --check $check run $run" \
                '{printf "%-40s %9.0f files/s %8.1f MB/s\n", what, $2 / $1, $3 / $1 / 1e6}'
        done
    done
done
