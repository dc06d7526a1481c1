# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Images beyond a limit are refused by name.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack --max-pixels 7999 --encode keep src x.stk
echo "exit $?"
stoker ls x.stk | cut -f 7
