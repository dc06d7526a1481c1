# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The real loader, for a moment.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
stoker pack -q "$DATA/clothing" x.stk
stoker bench --seconds 0.2 --batch 16 --threads 2 x.stk
