# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# keep stores bytes as they are, raw stores pixels (grey ones stay one channel), auto decides.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --encode keep src keep.stk
stoker ls keep.stk | cut -f 5,6
for f in cat/1.jpg cat/2.png dog/3.jpg dog/5.png dog/deep/4.JPEG; do stat -c %s src/$f; done
stoker pack -q --encode raw src raw.stk
stoker ls raw.stk | cut -f 5,6
stoker pack -q src auto.stk
stoker ls auto.stk | cut -f 5
