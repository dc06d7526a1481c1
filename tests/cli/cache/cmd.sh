# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A cache shared between outputs; tiny raw records are not worth an entry.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --cache cache src a.stk
cp -r src other
stoker pack --cache cache --json other b.stk | json_get reused
cmp a.stk b.stk && echo same
stoker cache --json stat cache | json_get entries
stoker cache verify cache
stoker cache trim --max 1K cache
stoker cache clear cache
stoker cache stat cache
echo "exit $?"
stoker cache polish cache
echo "exit $?"
