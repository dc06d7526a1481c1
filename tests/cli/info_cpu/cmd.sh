# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# STOKER_CPU forces a family; an unknown one is an error.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
STOKER_CPU=scalar stoker info --json x.stk | json_get cpu
STOKER_CPU=abacus stoker info x.stk
echo "exit $?"
