# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The report as one JSON object; its keys are a contract.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack --json src x.stk | python3 -c '
import json, os, sys
report = json.load(sys.stdin)
for key in "records", "skipped", "damaged", "reused", "resumed":
    print(key, report[key])
assert report["bytes"] == os.path.getsize("x.stk"), report
assert report["seconds"] >= 0
print(sorted(report))'
