# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# --force replaces data sets and empty files, and nothing else: a slip in a path must not cost a script.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --part 1/2 src 1.stk
stoker pack -q --part 2/2 src 2.stk
echo 'print("precious")' >train.py
printf 'x' >one
mkfifo pipe
ln -s train.py link
for out in train.py one pipe link; do
    stoker pack -q --force src "$out"
    echo "pack $out: exit $?"
done
stoker merge --force 1.stk 2.stk train.py
echo "merge: exit $?"
for to in hdf5 tar; do
    stoker export --force --to "$to" 1.stk train.py
    echo "export $to: exit $?"
done
cat train.py one
readlink link
find . -name '*tmp*'

# What may be replaced.
: >empty
stoker pack -q --force src empty && stoker pack -q --force src empty && echo replaced
stoker export --to tar 1.stk x.tar && stoker export --to tar --force 1.stk x.tar && echo replaced
stoker export 1.stk x.h5 2>/dev/null && stoker export --force 1.stk x.h5 2>/dev/null && echo replaced
stoker pack -q --force --format hdf5 src x.h5 && stoker pack -q --force --format stk src x.h5 && echo replaced
