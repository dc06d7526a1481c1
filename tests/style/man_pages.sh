#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The man pages in docs/man come from the command's own tables, as --help does.
# Usage: man_pages.sh [--check] STOKER     writes docs/man/*.1, or checks that they are up to date
set -euo pipefail
check=0
if [ "${1:-}" = --check ]; then
    check=1
    shift
fi
stoker=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$stoker" --man >"$scratch/stoker.1"
for command in $("$stoker" --help | awk '/^Commands:/ {on = 1; next} /^$/ {on = 0} on && /^  [a-z]/ {print $1}'); do
    "$stoker" --man "$command" >"$scratch/stoker-$command.1"
done
if [ "$check" -eq 1 ]; then
    diff -r "$scratch" "$root/docs/man" || {
        echo "docs/man is not up to date: tests/style/man_pages.sh $stoker"
        exit 1
    }
else
    mkdir -p "$root/docs/man"
    rm -f "$root"/docs/man/*.1
    cp "$scratch"/*.1 "$root/docs/man/"
fi
