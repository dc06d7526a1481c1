# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A file and a folder of shards: staged, found again, mended, listed, removed; the source stays.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
mkdir fast
stoker pack -q "$DATA/clothing" train.stk
stoker pack -q --shard-size 2MiB "$DATA/clothing" shards/
stoker stage --to fast --dry-run train.stk
ls fast
stoker stage --to fast --no-progress train.stk
copy=$(stoker stage --to fast --json train.stk | json_get path | tr -d '"')
cmp "$copy" train.stk && echo same
stoker verify "$copy"
printf X | dd of="$copy" bs=1 seek=1000000 conv=notrunc 2>/dev/null
stoker stage --to fast --verify --json train.stk | json_get blocks_mended
cmp "$copy" train.stk && echo same
folder=$(stoker stage --to fast --json shards | json_get path | tr -d '"')
diff -r "$folder" shards && stoker verify "$folder"
stoker stage --to fast | wc -l
stoker stage --to fast --json train.stk | json_get bytes_copied
touch train.stk
stoker stage --to fast --dry-run --json train.stk | json_get state
stoker stage --to fast --evict shards
stoker stage --to fast --evict --json | json_get copies
stoker stage --to fast
stoker verify train.stk
