# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A file without its end is refused, with a hint.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
head -c 5000 x.stk >short.stk
stoker verify short.stk
echo "exit $?"
stoker info short.stk
echo "exit $?"
