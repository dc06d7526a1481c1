# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Options that say nothing for this pack are told, one line each; those that do are not.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
stoker pack -q --quality 80 --shard-size 2M --resample box src x.stk
stoker pack -q --chroma-444 --encode keep --tile 64 src y.stk
stoker pack -q --quality 80 --chroma-444 --resample box --tile 64 --resize short=16 --shard-size 2M src z/
