# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A pack that waits for a pipe which says nothing: the first Ctrl-C is noted, a second one ends it. A terminal that is
# closed interrupts as Ctrl-C does, but not under nohup.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
mkfifo list.csv
sleep 300 >list.csv &
writer=$!
stoker pack --root src list.csv x.stk 2>/dev/null &
pid=$!
until [ -e /proc/$pid/fd ] && readlink /proc/$pid/fd/* | grep -q 'list.csv$'; do sleep 0.05; done
kill -INT $pid
kill -INT $pid # a wrapper's, at once: the same wish
kill -0 $pid && echo "waits"
while kill -INT $pid 2>/dev/null; do sleep 0.5; done
wait $pid 2>/dev/null
echo "exit $?"
kill $writer
wait $writer 2>/dev/null
find . -name 'x.stk*'

mkdir -p many/a
for i in $(seq 1 300); do
    for f in "$DATA"/clothing/hat/*.jpg; do ln -s "$f" "many/a/$i-${f##*/}"; done
done
stoker pack -q many many.stk
for with in env nohup; do
    $with stoker export many.stk out.tar 2>message &
    pid=$!
    until [ -e out.tar.tmp.$pid ] || ! kill -0 $pid; do sleep 0.001; done
    kill -HUP $pid
    wait $pid
    echo "$with: exit $?"
    grep stoker message
    find . -name 'out.tar*'
done
