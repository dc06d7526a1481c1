# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Bad and damaged files are left out, each named with its reason; exit code 2.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_bad_tree
stoker pack src x.stk
echo "exit $?"
python3 - <<'PY'
import json
for line in open("x.stk.report.jsonl"):
    row = json.loads(line)
    if "summary" in row:
        print("summary", row["summary"]["records"], row["summary"]["skipped"])
        continue
    print(row["path"], row["action"], row["kind"])
    assert row["reason"]
PY
stoker verify --deep x.stk | cut -d , -f 1
