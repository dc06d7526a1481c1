# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Bad files are copied away, never moved.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_bad_tree
stoker pack -q --on-bad quarantine=away src x.stk
echo "exit $?"
cmp "$FILES/garbage.jpg" src/dog/garbage.jpg && find away -type f
