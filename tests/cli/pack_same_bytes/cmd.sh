# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The same input gives the same bytes for any number of threads, and at any time.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
for n in 1 2 3 7; do
    stoker pack -q -j $n src $n.stk
    touch src/cat/1.jpg
done
cmp 1.stk 2.stk && cmp 1.stk 3.stk && cmp 1.stk 7.stk && echo same
