# shellcheck shell=bash disable=SC2086
# SPDX-License-Identifier: Apache-2.0
# Options that belong to another kind of source or data set are refused, each by name, and nothing is made or packed in
# its stead: before, --root of a pack without a manifest took the place of SRC.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
tar -C src -cf t.tar cat/1.jpg dog/3.jpg
printf 'path,label\ncat/1.jpg,7\ndog/3.jpg,9\n' >src/m.csv
stoker pack -q src/m.csv h.h5
stoker pack -q src x.stk
stoker pack -q src d/
of_manifest=("--root src" "--path-column path" "--label-column label" "--column label:int8")
of_hdf5=("--dataset data" "--labels labels" "--arrays" "--range 0:1")
for src in src t.tar h.h5; do
    for option in "${of_manifest[@]}"; do stoker pack $option $src y.stk; done
done
for src in src t.tar src/m.csv; do
    for option in "${of_hdf5[@]}"; do stoker pack $option $src y.stk; done
done
stoker pack --manifest src/m.csv --root src src y.stk
for dst in x.stk d/ h.h5; do
    for option in --salvage "${of_hdf5[@]}"; do
        for command in info ls extract export bench; do
            out=
            case $command in ex*) out=out ;; bench) out="--seconds 0.1" ;; esac
            stoker $command $option $dst $out >/dev/null 2>message || grep '^stoker' message
        done
        rm -rf out
    done
done
find . -maxdepth 1 -name "[oy]*"
for option in "${of_manifest[@]}"; do
    stoker pack -q $option src/m.csv y.stk || echo "exit $?"
    stoker ls y.stk | wc -l
    rm y.stk*
done
