# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Options and operands come in any order; -- ends the options; --x=v and --x v are one.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
mv src ./-src
stoker pack --encode keep -q --json -- -src a.stk | json_get records
mv ./-src src
stoker pack src --encode=keep b.stk -qj 2
stoker pack src c.stk --encode keep -q -j1
cmp a.stk b.stk && cmp b.stk c.stk && echo same
