# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# An existing file is not overwritten without --force; links are not followed.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --encode keep src x.stk
mkdir -p out/cat elsewhere
echo mine >out/cat/1.jpg
ln -s ../elsewhere out/dog
stoker extract x.stk out
echo "exit $?"
cat out/cat/1.jpg
ls elsewhere
stoker extract --force x.stk out 0
echo "exit $?"
cmp out/cat/1.jpg src/cat/1.jpg && echo replaced
