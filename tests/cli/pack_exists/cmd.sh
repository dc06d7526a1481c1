# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# An existing output is not replaced without --force, and stays as it was.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
cp x.stk before
rm src/cat/1.jpg
stoker pack -q src x.stk
echo "exit $?"
cmp x.stk before && echo untouched
stoker pack -q --force src x.stk
echo "exit $?"
stoker info --json x.stk | json_get records
