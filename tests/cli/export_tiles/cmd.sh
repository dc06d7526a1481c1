# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What export says of tiles and filters; a damaged record is named once; what is missing of a folder has a name.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --encode tiles src tiles.stk
stoker pack -q --encode keep src keep.stk
stoker export tiles.stk tiles.h5
stoker export keep.stk keep.h5
stoker export tiles.stk tiles.tar
stoker export --hdf5-filter gzip keep.stk filter.h5
echo "exit $?"
printf 'XXXX' | dd of=keep.stk bs=1 seek=500 conv=notrunc status=none
stoker extract keep.stk out >/dev/null
echo "exit $?"
stoker pack -q src shards/
rm shards/00000.stk
stoker verify shards/
echo "exit $?"
