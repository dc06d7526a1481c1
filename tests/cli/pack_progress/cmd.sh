# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# --progress writes lines even into a file; --no-progress never.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack --progress -q src x.stk 2>&1 | grep -c 'bad' | python3 -c 'print(int(input()) >= 0)'
stoker pack --no-progress -q src y.stk
