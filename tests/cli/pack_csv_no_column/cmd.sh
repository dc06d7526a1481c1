# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A label column that is not there is an error that names those that are.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
printf 'image,kind\ncat/1.jpg,cat\n' >list.csv
stoker pack --manifest list.csv --root src --label-column colour x.stk
