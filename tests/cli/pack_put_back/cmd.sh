# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Where two folders cannot be exchanged in one step, a run that is killed between its two renames leaves the old data
# set in its own folder. It is back before anything else is done, also when the next run fails.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_bad_tree
stoker pack -q --on-bad skip src set/ 2>/dev/null
mkdir set.tmp.0123456789abcdef
mv set set.tmp.0123456789abcdef/old
stoker pack -q --force --on-bad fail src set/ 2>/dev/null
echo "exit $?"
stoker info --json set | json_get records
ls
