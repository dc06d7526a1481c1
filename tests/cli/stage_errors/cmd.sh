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
