# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What salvage does not find is said: records lost in the midst, at the front, behind a cut; of a shard of a folder too.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --encode keep src x.stk
# spoil FILE index|cut|head RECORD... : flips a byte of each record's payload, and one elsewhere.
spoil() {
    python3 - "$@" <<'PY'
import struct, sys
name, what, *numbers = sys.argv[1:]
data = bytearray(open(name, "rb").read())
index = struct.unpack_from("<Q", data, len(data) - 192)[0]
places = [struct.unpack_from("<QQ", data, index + 16 + 48 * int(number)) for number in numbers]
for offset, n_bytes in places:
    data[offset + n_bytes // 2] ^= 8
if what == "index":
    data[index + 20] ^= 1
if what == "head":
    data[8] ^= 1
open("b.stk", "wb").write(data[:index + 10] if what == "cut" else data)
PY
    echo "== $*" | tee /dev/stderr
    stoker ls --salvage b.stk | cut -f 1,2,5
}
spoil x.stk index
spoil x.stk index 2
spoil x.stk index 0 4
spoil x.stk cut
spoil x.stk cut 0 2
spoil x.stk cut 4
spoil x.stk head 0
stoker ls --salvage x.stk | wc -l
mkdir -p many/a
for i in $(seq 100 499); do cp "$FILES/photo.jpg" "many/a/$i.jpg"; done
stoker pack -q --encode keep --shard-size 1M many d/
spoil d/00001.stk index 0 3 >/dev/null
spoil d/00001.stk cut 0 3 >/dev/null
stoker extract --salvage b.stk out
