# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A flipped byte in the index hides all records behind it: one line for them all, and a way out that works.
stoker pack -q "$DATA/clothing" x.stk
python3 - <<'PY'
import struct
data = bytearray(open("x.stk", "rb").read())
(index,) = struct.unpack_from("<Q", data, len(data) - 192)
data[index + 100] ^= 1
open("x.stk", "wb").write(data)
PY
stoker verify x.stk
echo "exit $?"
stoker extract --salvage x.stk out >/dev/null
find out -type f | wc -l
