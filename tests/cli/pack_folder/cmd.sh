# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A class folder becomes one file; progress is silent without a terminal.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack src x.stk
ls
stoker ls x.stk | cut -f 1,2,3,4,7
