# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# An export that is ended by Ctrl-C leaves nothing; what a killed one left goes with the next; a living one's stays.
mkdir -p src/a
for i in $(seq 1 300); do
    for f in "$DATA"/clothing/hat/*.jpg; do ln -s "$f" "src/a/$i-${f##*/}"; done
done
stoker pack -q src x.stk
# Starts an export and waits until its temporary file is there.
begin() {
    stoker export x.stk "$1" &
    pid=$!
    until [ -e "$1.tmp.$pid" ] || ! kill -0 $pid; do sleep 0.001; done
}
for out in out.tar out.h5; do
    begin $out
    kill -INT $pid
    wait $pid
    echo "exit $?"
    ls out.*
    begin $out
    kill -STOP $pid
    stoker export x.stk $out 2>/dev/null
    echo "second: exit $?"
    [ -e $out.tmp.$pid ] && echo "the first one's is there"
    kill -KILL $pid
    wait $pid 2>/dev/null
    [ -e $out.tmp.$pid ] && echo "left over"
    echo mine >$out.tmp.notes
    echo left >$out.tmp.123.meta
    stoker export x.stk $out 2>/dev/null
    echo "exit $?"
    ls out.*
    rm out.*
done
