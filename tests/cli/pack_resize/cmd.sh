# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# --resize changes sizes, and says that pixels change.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack --resize short=32 src x.stk
stoker ls x.stk | cut -f 3,4
stoker pack -q --resize exact=40x30 src y.stk
stoker ls y.stk | cut -f 3,4 | sort -u
stoker pack -q --resize long=48 src z.stk
stoker ls z.stk | cut -f 3,4
