# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Parts joined equal the whole; missing and repeated parts are refused with a list.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
stoker pack -q "$DATA/clothing" whole.stk
for k in 1 2 3; do stoker pack -q --part $k/3 "$DATA/clothing" $k.stk; done
stoker merge 3.stk 1.stk 2.stk joined.stk
cmp whole.stk joined.stk && echo same
stoker merge 3.stk 1.stk gap.stk
echo "exit $?"
stoker merge --json --force 1.stk 3.stk 2.stk joined.stk | json_get records
stoker merge 1.stk 1.stk 2.stk 3.stk twice.stk
echo "exit $?"
stoker pack --part 4/3 "$DATA/clothing" x.stk
echo "exit $?"
find . -name '*.stk' | sort
