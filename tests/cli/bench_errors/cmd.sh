# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
stoker pack -q "$DATA/clothing" x.stk
stoker bench --batch 81 x.stk
echo "exit $?"
stoker bench --device abacus x.stk
echo "exit $?"
stoker bench --transform none --seconds 0.1 x.stk
echo "exit $?"
