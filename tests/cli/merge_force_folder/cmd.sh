# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Parts without lists of sources replace a folder of shards too.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --part 1/2 src 1.stk
stoker pack -q --part 2/2 src 2.stk
rm ./*.sources
stoker merge --no-progress 1.stk 2.stk out/ >/dev/null
stoker merge --no-progress --force 1.stk 2.stk out/ >/dev/null
echo "exit $?"
stoker ls out | cut -f 7
ls
