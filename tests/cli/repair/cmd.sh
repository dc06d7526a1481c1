# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A spoilt photo comes back from its source, byte for byte; without the source it is dead, named, and exit code 2 says so.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
cp x.stk good.stk
cp x.stk.sources good.sources
spoil() {
    python3 - "$@" <<'PY'
import json, subprocess, struct, sys
data = bytearray(open("x.stk", "rb").read())
index = struct.unpack_from("<Q", data, len(data) - 192)[0]
for number in map(int, sys.argv[1:]):
    offset, n_bytes = struct.unpack_from("<QQ", data, index + 16 + 48 * number)
    data[offset + n_bytes // 2] ^= 8
open("x.stk", "wb").write(data)
PY
}
spoil 0 3
stoker repair --dry-run --from src x.stk
echo "exit $?"
stoker repair --from src x.stk 2>/dev/null
echo "exit $?"
cmp x.stk good.stk && cmp x.stk.sources good.sources && echo "as packed"

spoil 1 2
mv src/dog away
stoker repair --json --from src x.stk 2>/dev/null | json_get dead
stoker verify x.stk
echo "exit $?"
stoker ls x.stk | cut -f 1,2,5,7
mv away src/dog
stoker repair -n --from src x.stk
stoker repair --from src x.stk 2>/dev/null
cmp x.stk good.stk && cmp x.stk.sources good.sources && echo "as packed"
stoker repair x.stk
stoker pack -q src x.h5
stoker repair x.h5
echo "exit $?"
find . -mindepth 1 -maxdepth 1 | sort
