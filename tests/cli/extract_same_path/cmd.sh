# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Records of one path, or of paths that become one: every one of them is in the folder, with --force too.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
cp src/cat/2.png src/cat/1
cp src/dog/5.png src/cat/1.png
stoker pack -q --encode raw src d/
cp src/dog/3.jpg src/cat/1.jpg
cp src/cat/2.png src/dog/5.png
stoker pack -q --encode raw --append src d/
for options in "" "" --force; do
    # shellcheck disable=SC2086
    stoker extract $options d/ out
    echo "exit $?"
done
(cd out && find . -type f | sort)
stoker extract --force d/ forced >/dev/null && diff -r out forced && stoker export d/ exported && diff -r out exported
mkdir one
for i in $(seq 0 13); do
    stoker extract d/ one/"$i" "$i" >/dev/null
done
# Each record's bytes are among those of the folder.
find one -type f -exec sha256sum {} + | cut -d ' ' -f 1 | sort -u >want
find out -type f -exec sha256sum {} + | cut -d ' ' -f 1 | sort -u | diff want - && echo "all there"
