# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Keys are a contract.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --encode keep src x.stk
stoker info --json x.stk | python3 -c '
import json, os, sys
info = json.load(sys.stdin)
print(info["records"], info["classes"], info["class_names"], info["encoding"], info["encodings"])
assert info["bytes"] == os.path.getsize("x.stk")
assert len(info["dataset_id"]) == 32 and int(info["dataset_id"], 16)
assert info["cpu"] in ("scalar", "avx2", "avx512", "neon")
assert isinstance(info["metadata"], dict)'
