# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A shard that is gone, or whose index is damaged: no other file is blamed, and the commands that are advised work. Damaged
# records are advised to repair.
mkdir -p many/a
for i in $(seq 100 499); do cp "$FILES/photo.jpg" "many/a/$i.jpg" && cp "$FILES/grey.jpg" "many/a/g$i.jpg"; done
stoker pack -q --encode tiles --shard-size 1M many sh/
for shard in 00000 00001; do
    echo "== without $shard"
    mv sh/$shard.stk away
    stoker verify sh/ | cut -d, -f 1,2
    echo "exit ${PIPESTATUS[0]}"
    stoker repair --from many sh/
    stoker export --on-bad skip sh/ out 2>&1 | tail -n 1
    rm -r out
    mv away sh/$shard.stk
done
echo "== a damaged index"
cp sh/00001.stk away
printf 'XXXXXXXX' | dd of=sh/00001.stk bs=1 seek=$(($(stat -c %s away) - 300)) conv=notrunc status=none
stoker verify sh/ 2>&1 >/dev/null | sed 's/offset [0-9]*/offset N/'
stoker export --on-bad skip sh/ out 2>&1 | tail -n 1
mv away sh/00001.stk
echo "== a damaged record"
printf 'XXXX' | dd of=sh/00001.stk bs=1 seek=50000 conv=notrunc status=none
stoker verify sh/ 2>&1 >/dev/null | sed 's/record [0-9]*/record N/; s/([^)]*)/(PATH)/; s/offset [0-9]*/offset N/'
stoker repair --from many sh/ 2>/dev/null
stoker verify sh/ | cut -d, -f 1,2
