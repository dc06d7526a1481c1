# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# keep gives the source files back, byte for byte.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --encode keep src x.stk
stoker extract x.stk out
rm src/dog/.DS_Store
diff -r src out && echo same
stoker extract x.stk out
stoker extract --json x.stk some 1 3 | json_get written
find some -type f | sort
