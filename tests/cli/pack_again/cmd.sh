# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Unchanged files are taken from the old output, and the result equals a fresh pack.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
cp "$FILES/turned.jpg" src/dog/new.jpg
touch src/cat/1.jpg
stoker pack --force --json src x.stk | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(report["records"], report["reused"])'
stoker pack -q src fresh.stk
cmp x.stk fresh.stk && echo same
# The summary says what was not done again.
stoker pack --force src x.stk | grep -o '; .*'
