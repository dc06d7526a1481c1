# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What cannot be staged, and where nothing can be staged to.
stoker stage --to . nothing.stk
echo "exit $?"
echo text >text.stk
stoker stage --to . text.stk
echo "exit $?"
stoker pack -q "$DATA/clothing" train.stk
stoker stage --to missing train.stk
echo "exit $?"
stoker stage --to train.stk train.stk
echo "exit $?"
mkdir full link
stoker stage --to full --keep-free 999TiB train.stk
echo "exit $?"
ln -s /tmp "link/stoker-$(id -u)"
stoker stage --to link train.stk
echo "exit $?"
stoker stage --evict --verify train.stk
echo "exit $?"
stoker stage --background
echo "exit $?"
stoker verify train.stk
# What evict does not find, and options that contradict each other.
mkdir -p elsewhere
STOKER_STAGE_DIR=$PWD/none stoker stage --evict never-packed.stk
stoker stage --to nowhere --evict never-packed.stk
echo "exit $?"
stoker stage --to nowhere
echo "exit $?"
stoker stage --to elsewhere --evict never-packed.stk
for options in "--evict --keep-free 1G x.stk" "--evict -j 2" "--keep-free 1G" "-j 2" "--dry-run"; do
    # shellcheck disable=SC2086
    stoker stage --to elsewhere $options
    echo "exit $?"
done
