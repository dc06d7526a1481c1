# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# -0 ends lines with NUL, so that paths may hold newlines.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
mkdir -p src/a
cp "$FILES/photo.jpg" "$(printf 'src/a/x\ny.jpg')"
cp "$FILES/photo.jpg" src/a/z.jpg
stoker pack -q src x.stk
stoker ls -0 x.stk | tr '\0\n' '\n?' | cut -f 7
