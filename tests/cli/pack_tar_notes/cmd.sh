# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What of a tar does not come into the output is said; folders are classes as in a folder, one, several or with a picture
# beside them.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
show() {
    stoker pack "$1" x.stk >/dev/null
    echo "$1: exit $?"
    stoker info --classes x.stk | grep '^class'
    stoker ls x.stk | cut -f 1,2,7
    rm -f x.stk*
}
tar -C src -cf one.tar cat/1.jpg cat/2.png
tar -C src -cf one_picture.tar cat/2.png
tar -C src -cf several.tar cat/1.jpg dog/3.jpg dog/deep/4.JPEG dog/.DS_Store
cp src/cat/1.jpg src/top.jpg
tar -C src -cf beside.tar cat/2.png top.jpg dog/3.jpg
tar -C src/cat -cf flat.tar 1.jpg 2.png
for tar in one one_picture several beside flat; do show $tar.tar; done

mkdir w
cp src/cat/1.jpg w/0.jpg
cp src/cat/2.png w/1.png
cp src/cat/2.png w/0.seg.png
echo 3 >w/0.cls
for name in 0.bbox 0.json README; do echo "[1]" >"w/$name"; done
ln -s 0.jpg w/2.jpg
tar -C w -cf sorted.tar 0.bbox 0.cls 0.jpg 0.json 0.seg.png 1.png 2.jpg README
tar -C w -cf mixed.tar 0.jpg 1.png 0.cls 0.json
for tar in sorted mixed; do show $tar.tar; done

head -c 1048577 /dev/zero | tr '\0' 1 >w/0.json
tar -C w -cf large.tar 0.jpg 0.json
stoker pack large.tar large.stk
echo "exit $?"
head -c 1048576 /dev/zero | tr '\0' 1 >w/0.json
tar -C w -cf fits.tar 0.jpg 0.json
stoker pack -q fits.tar fits.stk && stoker export fits.stk fits && stoker info --json fits.stk | json_get columns
