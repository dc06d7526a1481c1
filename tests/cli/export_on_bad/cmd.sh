# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Records that cannot be read: damaged, dead, or in a shard that is gone. Each target stops at the first and leaves
# nothing, or leaves them out as asked, names them and ends with 2.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --encode keep src damaged.stk
printf 'XXXX' | dd of=damaged.stk bs=1 seek=500 conv=notrunc status=none
cp damaged.stk dead.stk
stoker repair dead.stk >/dev/null 2>&1
mkdir -p one/a
for i in 1 2 3 4; do cp "$FILES/photo.jpg" one/a/$i.jpg; done
stoker pack -q --encode raw --resize exact=64x64 one raw.stk
printf 'XXXX' | dd of=raw.stk bs=1 seek=500 conv=notrunc status=none
for set in damaged dead raw; do
    for out in out.tar out.h5 out.d; do
        echo "== $set to $out"
        stoker export "$set.stk" $out 2>&1
        echo "exit $?"
        ls -d out.* 2>/dev/null
        stoker export --on-bad skip --json $set.stk $out 2>&1 >report.json | grep -v "are tiles"
        echo "exit ${PIPESTATUS[0]}"
        python3 -c 'import json, sys
r = json.load(open("report.json")); print(r["records"], r["skipped"], [(x["record"], x["reason"][:20]) for x in r["left_out"]])'
    done
    tar tf out.tar | grep -v json
    stoker ls out.h5 | cut -f 1-5,7
    stoker verify out.h5 | cut -d, -f 1,2
    find out.d -type f | sort
    rm -r out.*
done
# Shared tables that are in a shard which is gone.
mkdir -p many/a
for i in $(seq 100 499); do cp "$FILES/photo.jpg" "many/a/$i.jpg" && cp "$FILES/grey.jpg" "many/a/g$i.jpg"; done
stoker pack -q --encode tiles --shard-size 1M many shards/
rm shards/00000.stk
for out in out.tar out.h5 out.d; do
    stoker export --on-bad skip --json shards/ $out >report.json 2>notes
    echo "exit $?"
    grep -c "record [0-9]*: shards/00000.stk: cannot open" notes
    tail -n 1 notes
done
stoker verify --deep out.h5 | cut -d, -f 1,2
find out.d -type f | wc -l
rm -r out.*
# Nothing is left when nothing can be read.
stoker pack -q --encode keep src/cat one.stk
printf 'XXXX' | dd of=one.stk bs=1 seek=500 conv=notrunc status=none
printf 'XXXX' | dd of=one.stk bs=1 seek=3900 conv=notrunc status=none
for out in out.tar out.h5 out.d; do
    stoker export --on-bad skip one.stk $out 2>&1 | tail -n 1
done
find . -maxdepth 1 -name "out*"
