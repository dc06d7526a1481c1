#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, as C99 and as C++11, by gcc and clang, without a warning.
# Usage: check_headers.sh INCLUDE_DIR BUILD_INCLUDE_DIR
set -euo pipefail
include=$1
built=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
for header in "$include"/stoker/*.h "$built"/stoker/*.h; do
    name=stoker/${header##*/}
    # Twice: include guards.
    printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$name" "$name" >"$scratch/one.c"
    cp "$scratch/one.c" "$scratch/one.cpp"
    for compiler in "gcc -std=c99" "clang -std=c99" "g++ -std=c++11" "clang++ -std=c++11"; do
        case $compiler in *++*) source=one.cpp ;; *) source=one.c ;; esac
        # shellcheck disable=SC2086  # the compiler and its standard are two words
        if ! $compiler -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -I"$include" -I"$built" \
            "$scratch/$source"; then
            echo "$name does not stand alone: $compiler"
            failed=1
        fi
    done
done
exit $failed
