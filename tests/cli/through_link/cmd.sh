# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What a symbolic link points to is repaired and appended to; the link stays a link.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
mkdir disk
stoker pack -q src disk/x.stk
cp disk/x.stk good.stk
ln -s disk/x.stk x.stk
python3 - <<'PY'
import struct
data = bytearray(open("x.stk", "rb").read())
index = struct.unpack_from("<Q", data, len(data) - 192)[0]
offset, n_bytes = struct.unpack_from("<QQ", data, index + 16)
data[offset + n_bytes // 2] ^= 8
open("x.stk", "wb").write(data)
PY
stoker repair --from src x.stk 2>/dev/null
echo "exit $?"
cmp disk/x.stk good.stk && readlink x.stk

stoker pack -q src disk/set/
ln -s disk/set set
mkdir more
cp -r src/cat more/
stoker pack -q --append more set/
echo "exit $?"
stoker info --json disk/set | json_get records
readlink set
ls . disk
