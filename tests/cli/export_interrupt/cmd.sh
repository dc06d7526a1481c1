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
for out in out.tar out.h5 out.d; do
    begin $out
    kill -INT $pid
    wait $pid
    echo "exit $?"
    ls -d out.*
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
    [ -d $out ] && find $out -type f | wc -l
    ls -d out.*
    rm -r out.*
done
# A folder that is there already gets file after file; each of them is whole.
mkdir there
stoker export x.stk there &
pid=$!
until [ -d there/a ] || ! kill -0 $pid; do sleep 0.001; done
kill -INT $pid
wait $pid
echo "exit $?"
stoker export x.stk there && find there -type f | wc -l
# So does extract, which the same command goes on with.
stoker extract x.stk into &
pid=$!
until [ -d into/a ] || ! kill -0 $pid; do sleep 0.001; done
kill -TERM $pid
wait $pid
echo "exit $?"
stoker extract x.stk into >/dev/null && diff -r there into && echo "alike"
