# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Images beside the class folders are left out: exit code 2, also when the pack is repeated or quiet.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
echo text >src/notes.txt
stoker pack -q src x.stk
echo "exit $?"
cp "$FILES/photo.jpg" src/cover.jpg
stoker pack --force --json src x.stk >report
echo "exit $?"
for key in records skipped ignored damaged; do json_get $key <report; done
stoker pack -q --force src x.stk
echo "again: exit $?"
stoker pack -q --on-bad fail src y.stk
echo "on-bad: exit $?"
cmp x.stk y.stk && echo same
grep -c no-class x.stk.report.jsonl
