# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A shard of which anything but a record is damaged: verify and repair say what to do, and that does it: packing the
# sources again, or taking the whole records out with their labels and packing these.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q src x.stk
spoil() {
    python3 - "$1" <<'PY'
import struct, sys
data = bytearray(open("x.stk", "rb").read())
index = struct.unpack_from("<Q", data, len(data) - 192)[0]
at = {"header": 8, "index": index + 20, "metadata": len(data) - 250, "trailer": len(data) - 190, "end": len(data) - 5}
if sys.argv[1] == "cut":
    data = data[:index + 100]
else:
    data[at[sys.argv[1]]] ^= 8
open("b.stk", "wb").write(data)
PY
    cp x.stk.sources b.stk.sources
}
for what in header index metadata trailer end cut; do
    echo "== $what" | tee /dev/stderr
    spoil $what
    stoker verify b.stk >/dev/null
    echo "exit $?"
    stoker repair --from src b.stk
    echo "exit $?"
    stoker export --salvage b.stk b.tar && stoker pack -q b.tar new.stk && stoker ls new.stk | cut -f 1-6
    stoker pack -q --force src b.stk && cmp b.stk x.stk && echo "as packed"
    rm b.tar new.stk*
done
