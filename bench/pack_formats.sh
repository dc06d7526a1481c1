#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packing one folder to .stk and to .h5 in turns: files in the page cache, output in memory. Prints each round's
# wall-clock and CPU seconds and the ratio of the two formats, and the median ratios.
# Usage: bench/pack_formats.sh FOLDER [BUILD_DIR] [pack option...]        (say --encode raw; ROUNDS=9 in front)
set -euo pipefail
if [ $# -lt 1 ]; then
    echo "Usage: bench/pack_formats.sh FOLDER [BUILD_DIR] [pack option...]" >&2
    exit 64
fi
folder=$1
stoker=${2:-build/release}/bin/stoker
shift
[ $# -eq 0 ] || shift
out=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$out"' EXIT
find -L "$folder" -type f -exec cat {} + >/dev/null

# pack SUFFIX OPTION...: sets wall and cpu (seconds).
pack() {
    local suffix=$1 times
    shift
    # A second pack over the same output would take its records from there.
    rm -rf "${out:?}"/*
    TIMEFORMAT='%R %U %S'
    times=$({ time "$stoker" pack -q "$@" "$folder" "$out/x.$suffix" >&2; } 2>&1) || [ $? -eq 2 ]
    read -r wall cpu <<<"$(tail -n 1 <<<"$times" | awk '{print $1, $2 + $3}')"
}

for ((round = 1; round <= ${ROUNDS:-5}; round++)); do
    pack stk "$@"
    stk_wall=$wall stk_cpu=$cpu
    pack h5 "$@"
    awk -v r="$round" -v a="$stk_wall" -v b="$wall" -v c="$stk_cpu" -v d="$cpu" 'BEGIN {
        printf "round %d: .stk %.3f s (%.3f s CPU), .h5 %.3f s (%.3f s CPU), .h5 takes %.3f of the time, %.3f of the CPU time\n",
            r, a, c, b, d, b / a, d / c}' | tee -a "$out.rounds"
done
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
echo "median: $(sed 's/.*takes \([0-9.]*\).*/\1/' "$out.rounds" | median) of the time," \
    "$(sed 's/.*time, \([0-9.]*\).*/\1/' "$out.rounds" | median) of the CPU time"
rm -f "$out.rounds"
