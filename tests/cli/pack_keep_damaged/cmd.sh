# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Damaged images are kept when asked, by kind; still named.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_bad_tree
rm src/dog/garbage.jpg
stoker pack -q --on-damaged keep src all.stk
echo "exit $?"
stoker ls all.stk | cut -f 7
stoker pack -q --on-damaged keep=truncated src some.stk
echo "exit $?"
stoker ls some.stk | cut -f 7
