# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
stoker verify x.stk
stoker verify --json --deep x.stk | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(report["ok"], report["records"], report["bad"])'
