# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Files that are no data sets are refused by name.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
echo "this is text, long enough to hold a header, but it does not hold one at all, whatever one looks for" >text.stk
: >empty.stk
for f in text.stk empty.stk missing.stk /; do
    stoker info $f
    echo "exit $?"
done
