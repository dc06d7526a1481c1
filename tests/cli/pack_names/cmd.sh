# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Content decides, not names: links, wrong and odd extensions, names that are not UTF-8.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
rm -r src/dog/deep src/dog/5.png
mv src/cat/2.png src/cat/2.jpg
cp "$FILES/photo.jpg" src/cat/noextension
cp "$FILES/photo.jpg" src/dog/upper.JPG
cp "$FILES/photo.jpg" "$(printf 'src/dog/caf\351.jpg')"
mkdir store && cp "$FILES/other.jpg" store/blob && ln -s ../../store/blob src/cat/link.jpg
stoker pack -q src x.stk
echo "exit $?"
stoker ls -0 x.stk | tr '\0' '\n' | cut -f 2,7 | LC_ALL=C od -An -c | tr -s ' ' | grep -c '351'
stoker ls --json x.stk | python3 -c '
import json, os, sys
for line in sys.stdin:
    row = json.loads(line)
    print(row["number"], row["label"], row["class"], os.fsencode(row["path"]))'
