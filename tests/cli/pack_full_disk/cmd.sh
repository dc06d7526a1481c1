# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# When the disk is full the old output stays, beside it what a second try goes on with.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
cp x.stk before
cp "$DATA"/clothing/hat/*.jpg src/cat
# A limit on file size stands in for a full disk: the write fails the same way.
(
    trap '' XFSZ
    ulimit -f 64
    stoker pack -q --force --encode keep src x.stk
)
echo "exit $?"
cmp before x.stk && echo untouched
find . -mindepth 1 -maxdepth 1 ! -name "*report*" -printf "%P\n" | sort
stoker pack -q --force --encode keep src x.stk
echo "exit $?"
find . -mindepth 1 -maxdepth 1 ! -name "*report*" -printf "%P\n" | sort
