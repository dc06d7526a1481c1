# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Keys are a contract; page-local order shows its class mix beside the exact one.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
stoker pack -q "$DATA/clothing" x.stk
stoker bench --json --seconds 0.2 --batch 20 --threads 1 --order page --size 64 x.stk | python3 -c '
import json, sys
r = json.load(sys.stdin)
for key in "images_per_s", "mb_per_s", "threads", "cpu", "stages", "classes_per_batch", "classes_per_batch_exact":
    assert key in r, key
assert r["images_per_s"] > 0 and r["threads"] == 1 and r["stages"]["decode_s"] > 0
# 80 photos of 10 classes, 20 of them in a batch: 10 (1 - C(72,20) / C(80,20)) = 9.117
print(r["classes_per_batch_exact"])'
for options in "--transform eval --dtype float32 --layout NCHW" "--transform resize --io mmap" \
    "--transform pad-crop --size 300 --io pread" "--order sequential --verify always"; do
    # shellcheck disable=SC2086
    stoker bench --seconds 0.05 --batch 8 $options x.stk | head -n 1
done
