# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The same from JSON lines, by SRC alone; a column type set by hand.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
cat >src/list.jsonl <<'JSONL'
{"file": "dog/3.jpg", "class": "dog", "n": 1}
{"file": "cat/1.jpg", "class": "cat", "n": 2}
JSONL
stoker pack -q --column n:float32 --manifest src/list.jsonl x.stk
echo "exit $?"
stoker ls x.stk | cut -f 1,2,7
stoker info --json x.stk | python3 -c '
import json, sys
print([c["type"] for c in json.load(sys.stdin)["columns"] if c["name"] == "n"])'
