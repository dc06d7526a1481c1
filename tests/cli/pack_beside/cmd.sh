# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A folder where a file beside DST would go is met before anything is written.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
for name in sources report.jsonl; do
    mkdir "x.stk.$name"
    stoker pack -q src x.stk
    echo "exit $?"
    rmdir "x.stk.$name"
done
ls -d x.stk* 2>/dev/null
stoker pack -q src x.stk
