# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A manifest: order kept, labels by name, extra columns typed only if every value survives.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
cat >list.csv <<'CSV'
image,sender,label,score,zip
dog/3,7,dog,0.5,00123
cat/1.jpg,8,cat,1.25,04711
gone,9,cat,2,00001
cat/2,10,cat,3,99999
CSV
stoker pack --manifest list.csv --root src x.stk
echo "exit $?"
stoker ls x.stk | cut -f 1,2,7
stoker info --json x.stk | python3 -c '
import json, sys
info = json.load(sys.stdin)
print(info["class_names"], sorted((c["name"], c["type"]) for c in info["columns"]))'
