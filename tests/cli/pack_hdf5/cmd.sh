# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# An HDF5 file by name; the same records come out.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --resize exact=32x24 --encode raw src x.h5
stoker info --json x.h5 | python3 -c '
import json, sys
info = json.load(sys.stdin)
print(info["records"], info["container"], info["encoding"])'
stoker ls x.h5 | cut -f 1,2,3,4,5
stoker verify x.h5 | cut -d , -f 1
stoker pack -q --encode keep src y.h5
stoker extract y.h5 out >/dev/null
rm src/dog/.DS_Store
diff -r src out && echo same
