# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --encode keep src x.stk
stoker info --classes x.stk
