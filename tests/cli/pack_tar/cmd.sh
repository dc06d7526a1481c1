# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A tar grouped as WebDataset does: members of one name are one sample.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
mkdir src
cp "$FILES/photo.jpg" src/000.jpg
cp "$FILES/other.jpg" src/001.jpg
printf 1 >src/000.cls
printf 0 >src/001.cls
tar -cf x.tar -C src 000.jpg 000.cls 001.jpg 001.cls
stoker pack -q --encode keep x.tar x.stk
echo "exit $?"
stoker ls x.stk | cut -f 1,2,5,6,7
