# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C: the old output stays, exit code 1; the same command goes on.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
mkdir -p src/a
for i in $(seq 1 300); do
    for f in "$DATA"/clothing/hat/*.jpg; do ln -s "$f" "src/a/$i-${f##*/}"; done
done
printf '\211STK\r\n\032\nold\n' >x.stk
cp x.stk old
stoker pack -q --force -j 1 src x.stk &
pid=$!
sleep 0.3
kill -INT $pid
wait $pid
echo "exit $?"
cmp x.stk old && echo old && rm old
stoker pack -q --force -j 1 src x.stk
echo "exit $?"
find . -mindepth 1 -maxdepth 1 ! -name "*report*" -printf "%P\n" | sort
