# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Files of other content in a folder that is there already: an error of its own, which --on-bad skip does not skip.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
stoker export x.stk out
echo "exit $?"
# Nothing to do: the sizes are those of what is there.
stoker export --json x.stk out >report.json
python3 -c 'import json, pathlib
r = json.load(open("report.json"))
files = [f for f in pathlib.Path("out").rglob("*") if f.is_file()]
print(r["records"] == len(files), r["bytes"] == sum(f.stat().st_size for f in files))'
for f in $(find out -type f | sort | head -n 1); do echo mine >"$f"; done
for how in error skip; do
    stoker export --on-bad $how x.stk out
    echo "exit $?"
    cat "$f"
done
stoker export --force x.stk out
echo "exit $?"
# Beside a damaged record, too: skip is for that one alone.
stoker pack -q --encode keep src d.stk
printf 'XXXX' | dd of=d.stk bs=1 seek=500 conv=notrunc status=none
stoker export --on-bad skip d.stk damaged 2>&1 | tail -n 1
for f in $(find damaged -type f | sort | head -n 1); do echo mine >"$f"; done
stoker export --on-bad skip d.stk damaged >/dev/null 2>&1
echo "exit $?"
