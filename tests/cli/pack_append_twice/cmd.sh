# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Appending a folder that has grown: what was there already stands there twice, which is said.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
mkdir -p other/cat
cp "$FILES/photo.jpg" other/cat/9.jpg
stoker pack -q src x/
stoker pack --append other x/ >/dev/null
cp "$FILES/photo.jpg" src/cat/7.jpg
stoker pack --append src x/ >/dev/null
echo "exit $?"
tail -n 2 x.report.jsonl | head -n 1
stoker ls x | cut -f 7 | sort | uniq -c
rm x.sources
stoker pack --append --force src x/ >/dev/null
stoker bench --seconds 0.05 --transform none --size 64 --batch 1 x >/dev/null
