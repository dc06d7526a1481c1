# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Options of HDF5 output are refused for what is not HDF5, or has no chunks, as pack does.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
mkdir -p one/a
for i in 1 2 3 4; do cp "$FILES/photo.jpg" one/a/$i.jpg; done
stoker pack -q --encode raw --resize exact=16x16 one raw.stk
for option in "--hdf5-filter gzip" "--chunk-images 3"; do
    for out in o.tar o.d "--to tar o" "--to folder o.h5" o.h5; do
        # shellcheck disable=SC2086
        stoker export $option x.stk $out
        echo "exit $?"
    done
    # shellcheck disable=SC2086
    stoker pack -q $option src p.stk
    # shellcheck disable=SC2086
    stoker pack -q $option src p.h5
    # shellcheck disable=SC2086
    stoker export $option raw.stk good.h5 && rm good.h5
done
find . -maxdepth 1 -name "[op]*"
