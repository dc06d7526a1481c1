# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Tiles in an HDF5 file are said, since other software cannot decode them; other encodings are not.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
for encode in tiles keep raw; do
    stoker pack --encode $encode src $encode.h5 2>&1 >/dev/null | sed "s/^/$encode: /"
done
stoker pack --encode tiles --format hdf5 src x --json | python3 -c '
import json, sys
print(json.load(sys.stdin)["notes"])'
stoker pack --encode tiles --json src x.stk 2>/dev/null | python3 -c '
import json, sys
print(json.load(sys.stdin)["notes"])'
