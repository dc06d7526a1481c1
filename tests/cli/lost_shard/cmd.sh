# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Shards share tables of small images under the same numbers; each has its own copy, so that a lost one takes no record of
# the others with it.
mkdir -p many/a
for i in $(seq 100 499); do cp "$FILES/photo.jpg" "many/a/$i.jpg" && cp "$FILES/grey.jpg" "many/a/g$i.jpg"; done
stoker pack -q --encode tiles --shard-size 1M many shards/
stoker extract shards/ all | cut -d, -f 1
for shard in shards/0*; do
    mv "$shard" away
    rm -rf out
    stoker extract shards/ out 2>notes | cut -d, -f 1
    sed 's/record [0-9]*/record N/' notes | sort -u
    (cd out && find . -type f -exec cmp {} ../all/{} \;)
    mv away "$shard"
done
