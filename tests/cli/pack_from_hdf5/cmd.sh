# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Our own HDF5 file of raw images, packed again: the same pixels.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --resize exact=32x24 --encode raw src x.h5
stoker pack -q x.h5 x.stk
echo "exit $?"
stoker ls x.stk | cut -f 1,2,3,4,5
stoker extract x.h5 a >/dev/null
stoker extract x.stk b >/dev/null
diff -r a b && echo same
