# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A file without its end opens with --salvage and yields what is whole.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --encode keep src x.stk
head -c 8200 x.stk >short.stk
stoker ls short.stk >/dev/null 2>&1
echo "exit $?"
stoker ls --salvage short.stk | cut -f 1,2,5,6
stoker extract --salvage short.stk out >/dev/null
find out -type f | wc -l
