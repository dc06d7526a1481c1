# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# --labels names what is read as labels, also in an HDF5 file that stoker wrote; class names belong to "labels" alone.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
printf 'path,label,weight\ncat/1.jpg,a,7\ndog/3.jpg,b,9\n' >src/m.csv
for encode in keep raw; do
    stoker pack -q --encode $encode src/m.csv $encode.h5
    for labels in labels weight "" nothing path; do
        echo "== $encode $labels"
        stoker ls --labels "$labels" $encode.h5 | cut -f 1,2,7
        stoker info --labels "$labels" $encode.h5 | grep -E '^classes|^columns'
    done
    stoker pack -q --labels weight $encode.h5 $encode.stk
    stoker ls $encode.stk | cut -f 1,2,7
done
