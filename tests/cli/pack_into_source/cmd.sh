# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# DST inside SRC would pack itself the next time.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack src src/x.stk
echo "exit $?"
ls src
