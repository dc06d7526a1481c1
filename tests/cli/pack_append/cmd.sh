# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# More images into a folder of shards: classes by name, new ones last; what does not fit is refused by name, and nothing
# has changed then.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
mkdir -p a more/hat more/bird
cp -r "$DATA/clothing/dress" "$DATA/clothing/hat" a/
for f in "$DATA"/clothing/shoes/*.jpg; do cp "$f" more/bird/; done
cp "$FILES/photo.jpg" more/hat/
stoker pack -q a x/
cp x/00000.stk first.stk
stoker pack -q --append more x/
echo "exit $?"
cmp first.stk x/00000.stk && echo "the first shard is as it was"
ls x
stoker info --json x | python3 -c '
import json, sys
info = json.load(sys.stdin)
print(info["records"], info["class_names"])'
stoker ls x | cut -f 2,7 | sed 's,/.*,,' | uniq -c | awk '{print $1, $2, $3}'
stoker verify x | cut -d , -f 1,2
# Its list of sources goes on: a damaged record of either part can be rebuilt.
head -n 1 x.sources
tail -n 1 x.sources | cut -d ' ' -f 1,2
cksum <x/dataset.json >before.txt
mkdir flat
cp a/hat/* flat
stoker pack --append more x/
echo "exit $?"
stoker pack --append --encode keep a x/
echo "exit $?"
stoker pack --append --max-pixels 5 a x/
echo "exit $?"
stoker pack --append flat x/
echo "exit $?"
stoker pack --append --part 1/2 a x/
echo "exit $?"
stoker pack --append --shuffle 1 a x/
echo "exit $?"
stoker pack --append a absent/
echo "exit $?"
stoker pack -q a one.stk
stoker pack --append a one.stk
echo "exit $?"
stoker pack --append a one.h5
echo "exit $?"
mkdir none
echo text >none/a.txt
stoker pack --append none x/
echo "exit $?"
cksum <x/dataset.json | cmp - before.txt && echo "nothing changed"
stoker pack -q --append --force more x/ && stoker verify x | cut -d , -f 1,2
find . -mindepth 1 -maxdepth 1 | sort
