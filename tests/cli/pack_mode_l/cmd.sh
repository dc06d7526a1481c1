# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# --mode L keeps grey.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --mode L --encode raw src x.stk
stoker ls x.stk | cut -f 5,6
