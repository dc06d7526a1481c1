# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A dry run reads no copy, so that --verify finds nothing with it; that is said.
stoker pack -q "$DATA/clothing" train.stk
mkdir to
stoker stage --to to --dry-run train.stk >/dev/null
stoker stage --to to --dry-run --verify train.stk >/dev/null
echo "exit $?"
find to -type f
