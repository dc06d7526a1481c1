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
    ulimit -f 64
    stoker pack -q --force --encode keep src x.stk
)
echo "exit $?"
cmp before x.stk && echo untouched
find . -mindepth 1 -maxdepth 1 ! -name "*report*" -printf "%P\n" | sort
stoker pack -q --force --encode keep src x.stk
echo "exit $?"
find . -mindepth 1 -maxdepth 1 ! -name "*report*" -printf "%P\n" | sort

# So do other commands, in a few words and without leaving anything.
stoker pack -q --encode raw src raw.stk
limited() { (
    ulimit "$1" "$2"
    shift 2
    stoker "$@" >/dev/null
    echo "exit $?"
); }
for out in o.tar o.h5 o.d; do limited -f 16 export raw.stk $out; done
limited -f 16 extract raw.stk o.e
limited -f 16 stage --to . raw.stk
limited -n 5 extract x.stk o.n
limited -n 5 export x.stk o.n2
find . -name 'o.*' -type f
find . -name '*.tmp.*'
