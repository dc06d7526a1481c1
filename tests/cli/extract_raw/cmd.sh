# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Raw records become PNG files with the same pixels.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
rm -r src/dog
stoker pack -q --encode raw src x.stk
stoker extract x.stk out >/dev/null
find out -type f | sort
