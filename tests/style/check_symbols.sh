#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shared library exports stk_ symbols only, and all that the public headers declare.
# Usage: check_symbols.sh LIBSTOKER.so INCLUDE_DIR...
set -euo pipefail
library=$1
shift
exported=$(nm -D --defined-only "$library" | awk '{print $NF}' | sed 's/@.*//' | sort -u)
stray=$(grep -v '^stk_' <<<"$exported" || true)
if [ -n "$stray" ]; then
    printf 'exported without the prefix stk_:\n%s\n' "$stray"
    exit 1
fi
# Every function declared with STK_API: its name stands before the parenthesis.
declared=$(cat "$@" | tr '\n' ' ' | grep -o 'STK_API [^;(]*(' | grep -o 'stk_[a-z0-9_]*($' | tr -d '(' | sort -u)
missing=$(comm -13 <(echo "$exported") <(echo "$declared"))
if [ -n "$missing" ]; then
    printf 'declared but not exported:\n%s\n' "$missing"
    exit 1
fi
undeclared=$(comm -23 <(echo "$exported") <(echo "$declared"))
if [ -n "$undeclared" ]; then
    printf 'exported but in no public header:\n%s\n' "$undeclared"
    exit 1
fi
echo "$(wc -l <<<"$exported") symbols"
