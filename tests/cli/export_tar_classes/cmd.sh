# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A tar keeps class names: packed again, the labels have them, and other readers of tars see the same members as without.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
mkdir src/empty "src/a b"
cp "$FILES/photo.jpg" "src/a b/x.jpg"
stoker pack -q src x.stk
stoker export x.stk x.tar
stoker pack -q x.tar y.stk
names() { stoker info --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["class_names"])'; }
names x.stk; names y.stk
stoker ls x.stk | cut -f 1-5 >x.ls
stoker ls y.stk | cut -f 1-5 | diff x.ls - && echo same
tar tf x.tar | head -n 4
python3 -c '
import tarfile
with tarfile.open("x.tar") as t: print([m.name for m in t if m.isfile()] == [m.name for m in t.getmembers()], len(t.getnames()))'
# A longer list than one header may hold (class names of 200 bytes).
for i in $(seq -w 0 49); do for k in $(seq -w 0 59); do
    d=many/$(printf 'c%.0s' {1..190})$i$k && mkdir -p "$d"
done; done
for d in many/*0; do cp "$FILES/small.png" "$d/1.png"; done
stoker pack -q many many.stk
stoker export many.stk many.tar
stoker pack -q many.tar again.stk
names many.stk >want && names again.stk | cmp - want && echo all
# Samples that someone added with labels beyond the names: said, and nothing is named wrongly.
mkdir more
(cd more && tar xf ../x.tar --no-xattrs && cp 000000000.jpg 900000000.jpg && printf 17 >900000000.cls)
cp x.tar z.tar
tar rf z.tar --format=ustar -C more 900000000.jpg 900000000.cls
stoker pack z.tar z.stk >/dev/null
stoker info z.stk | grep ^classes
