# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# --force replaces a data set, not what somebody put beside its shards.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src out/
echo precious >out/notes.txt
stoker pack -q --force src out/
echo "exit $?"
cat out/notes.txt
rm out/notes.txt
mkdir out/sub
stoker pack -q --force src out/
echo "exit $?"
rmdir out/sub
stoker pack -q --force src out/
echo "exit $?"
stoker verify out | cut -d , -f 2
