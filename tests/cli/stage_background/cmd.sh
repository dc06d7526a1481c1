# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# --background returns at once; the next call waits for it. A failure is told by the next call.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
mkdir fast
stoker pack -q "$DATA/clothing" train.stk
stoker stage --to fast --background --json train.stk | json_get background
while [ "$(stoker stage --to fast --dry-run --json train.stk | json_get state)" != '"whole"' ]; do sleep 0.1; done
stoker stage --to fast --json train.stk | json_get bytes_copied
stoker stage --to fast --background train.stk
key=$(basename fast/stoker-*/*-*)
stoker stage --to fast --evict train.stk
printf '{"failure": "the disk is full"}' >"$(echo fast/stoker-*)/$key.status"
stoker stage --to fast --json train.stk | json_get state
stoker stage --to fast --json train.stk | json_get last_failure
