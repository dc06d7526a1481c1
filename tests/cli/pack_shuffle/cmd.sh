# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# --shuffle stores another order, the same for the same seed.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src plain.stk
stoker pack -q --shuffle 1 src a.stk
stoker pack -q --shuffle 1 src b.stk
stoker pack -q --shuffle 2 src c.stk
cmp a.stk b.stk && echo same
cmp -s a.stk c.stk || echo different
stoker ls plain.stk | cut -f 2,7 | sort >plain.txt
stoker ls a.stk | cut -f 2,7 | sort | cmp plain.txt - && echo "same records"
