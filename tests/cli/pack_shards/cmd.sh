# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A folder of shards: DST ends with a slash.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
mkdir -p src
for i in $(seq 1 12); do
    mkdir -p src/$((i % 3))
    cp "$DATA"/clothing/hat/*.jpg src/$((i % 3))
    for f in src/$((i % 3))/*.jpg; do
        case $f in */n*) ;; *) mv "$f" "${f%/*}/n$i-${f##*/}" ;; esac
    done
done
stoker pack --json --encode keep --shard-size 1MiB src out/ | json_get records
set -- out/*.stk
[ $# -gt 1 ] && echo "several shards"
ls out/dataset.json
stoker verify out | cut -d , -f 1
stoker pack -q --encode keep src one.stk
stoker ls out >a.txt
stoker ls one.stk | cmp a.txt - && echo same
