# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Output that cannot be written is an error.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
stoker ls x.stk >/dev/full
