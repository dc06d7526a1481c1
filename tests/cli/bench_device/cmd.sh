# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The device part over host memory gives the same kind of report.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
stoker pack -q "$DATA/clothing" x.stk
stoker bench --json --seconds 0.1 --batch 8 --size 32 --device dummy x.stk | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["device"], r["images_per_s"] > 0, r["stages"]["device_decode_s"] >= 0, r["device_name"][:5])'
