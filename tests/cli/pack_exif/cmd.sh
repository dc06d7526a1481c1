# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Orientation is applied by default, and can be ignored.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
mkdir src
cp "$FILES/turned.jpg" src
stoker pack -q src a.stk
stoker pack -q --exif ignore src b.stk
stoker ls a.stk | cut -f 3,4
stoker ls b.stk | cut -f 3,4
