# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
stoker extract x.stk out 5
echo "exit $?"
stoker extract x.stk out -- -1
echo "exit $?"
