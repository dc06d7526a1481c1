# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A label column that cannot be labels, or not for every row, is told in one line; one that was asked for by name is
# an error.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
for labels in '-5 1.5 2' '-5 1 2' '1 -1 0' '1,,0' 'cat,,dog' '0 1 2'; do
    # shellcheck disable=SC2086  # words, or, where a comma stands, empty ones too
    case $labels in
    *,*) IFS=, read -r a b c <<<"$labels" ;;
    *) read -r a b c <<<"$labels" ;;
    esac
    printf 'path,label\ndog/3,%s\ncat/1.jpg,%s\ncat/2,%s\n' "$a" "$b" "$c" >list.csv
    echo "== $labels"
    stoker pack --force --manifest list.csv --root src x.stk 2>&1 | grep -v ' records, '
    stoker ls x.stk | cut -f 2 | paste -sd ' '
    stoker pack --force --manifest list.csv --root src --label-column label y.stk 2>&1 | grep 'cannot be' || true
done
