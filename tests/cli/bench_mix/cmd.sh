# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A class for each record: every whole batch of an exact shuffle has as many classes as images, whatever the last one has.
for i in $(seq 100 249); do mkdir -p "src/$i" && cp "$FILES/small.png" "src/$i/1.png"; done
stoker pack -q src x.stk
for batch in 100 149 150 64 7; do
    stoker bench --json --seconds 0.5 --size 8 --batch $batch x.stk | python3 -c '
import json, sys
r = json.load(sys.stdin); print(r["batch"], r["classes_per_batch"], r["classes_per_batch_exact"])'
done
# What a device would be needed for, and more than there is.
for options in "--decode gpu" "--resident on" "--batch 151"; do
    # shellcheck disable=SC2086
    stoker bench $options x.stk
    echo "exit $?"
done
