# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# --check header finds what a header shows and trusts the rest.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_bad_tree
stoker pack -q --check header --encode keep src x.stk
echo "exit $?"
stoker info --json x.stk | python3 -c 'import json, sys; print(json.load(sys.stdin)["metadata"]["check"])'
stoker verify x.stk | cut -d , -f 1
stoker verify --deep x.stk >/dev/null 2>&1
echo "exit $?"
