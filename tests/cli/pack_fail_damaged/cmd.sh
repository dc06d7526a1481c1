# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# --on-damaged fail and --on-bad fail stop with the file named; no output appears.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_bad_tree
stoker pack -q --on-damaged fail src x.stk
echo "exit $?"
rm src/cat/truncated.jpg src/cat/badcrc.png
stoker pack -q --on-bad fail src x.stk
echo "exit $?"
find . -mindepth 1 -maxdepth 1 ! -name "*report*" -printf "%P\n" | sort
