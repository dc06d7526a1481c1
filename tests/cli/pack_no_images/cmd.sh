# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A folder without images is an error, not an empty data set.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
mkdir src
echo text >src/readme.txt
stoker pack src x.stk
echo "exit $?"
ls
