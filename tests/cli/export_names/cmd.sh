# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Names that say another format are refused, as pack does, and nothing is made; --to insists.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
for out in y.zip y.csv y.tar.gz y.TGZ y.jsonl y.npz y.png y.stk; do
    stoker export x.stk $out
    echo "exit $?"
done
ls
stoker export x.stk y && ls y
for to in folder tar hdf5; do
    stoker export --to $to x.stk y.zip 2>/dev/null && echo "$to" && ls y.zip
    rm -r y.zip
done
