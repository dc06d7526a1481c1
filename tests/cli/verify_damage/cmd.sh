# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A flipped byte in a record, in the index and at the end: found, named, exit code 1.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --encode keep src x.stk
size=$(stat -c %s x.stk)
flip() {
    cp x.stk bad.stk
    python3 - "$1" <<'PY'
import sys
at = int(sys.argv[1])
data = bytearray(open("bad.stk", "rb").read())
data[at] ^= 1
open("bad.stk", "wb").write(data)
PY
    stoker verify bad.stk >out.txt 2>err.txt
    echo "exit $?"
    grep -q . err.txt || echo "nothing said"
}
# Every 97th byte of the file but for padding: all must be found.
found=0
tried=0
for at in $(seq 5 97 $((size - 1))); do
    tried=$((tried + 1))
    if [ "$(flip "$at")" = "exit 1" ]; then found=$((found + 1)); fi
done
[ $found -gt $((tried * 3 / 4)) ] && echo "most flips found"
needle=$(python3 -c '
data = open("x.stk", "rb").read()
print(data.find(open("src/dog/3.jpg", "rb").read()) + 1000)')
flip "$needle"
grep -c 'dog/3.jpg' err.txt
# A damaged index block: one line for it and one for all the records behind it, with the way out.
flip "$((size - 192 - 8 - $(python3 -c '
import struct
d = open("x.stk", "rb").read()
t = struct.unpack_from("<4Q", d, len(d) - 192)
print(len(d) - 192 - 8 - t[0] - 20)')))"
grep -c 'salvage' err.txt
[ "$(wc -l <err.txt)" -le 4 ] && echo "few lines"
