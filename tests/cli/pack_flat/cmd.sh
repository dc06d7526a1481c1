# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A folder without sub-folders has no labels.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
mkdir src
cp "$FILES/photo.jpg" "$FILES/other.jpg" src
stoker pack -q src x.stk
stoker ls x.stk | cut -f 1,2,7
stoker info --json x.stk | json_get classes
