# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A pack that was killed goes on, and ends with the same bytes.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
mkdir -p src/a
for i in $(seq 1 60); do
    for f in "$DATA"/clothing/*/*.jpg; do ln -s "$f" "src/a/$i-${f##*/}"; done
done
stoker pack -q -j 1 src x.stk &
pid=$!
sleep 1
kill -KILL $pid
wait $pid 2>/dev/null
[ ! -e x.stk ] && echo "nothing published"
stoker pack --json src x.stk | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(report["records"], report["resumed"] > 0)'
stoker pack -q src fresh.stk
cmp x.stk fresh.stk && echo same
find . -mindepth 1 -maxdepth 1 | sort
