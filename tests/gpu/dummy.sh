#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The uploader's programs with the dummy back end, over some photographs of the corpus. dummy.sh BIN_FOLDER
set -eu
bin=$1
[ -n "${STOKER_CORPUS:-}" ] || { echo "skipped: STOKER_CORPUS is not set"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/in/a"
find "$STOKER_CORPUS" -type f \( -name '*.jpg' -o -name '*.JPEG' -o -name '*.jpeg' \) -size +3k -size -60k | LC_ALL=C sort | head -n 24 |
    while IFS= read -r f; do cp "$f" "$work/in/a/"; done
[ -n "$(ls "$work/in/a")" ] || { echo "skipped: no photographs in STOKER_CORPUS"; exit 77; }
"$bin/stoker" pack --on-bad skip "$work/in" "$work/p.stk" >/dev/null 2>&1 || [ $? -eq 2 ]
"$bin/gpu_compare" "$work/p.stk" dummy 8 stages
# A hundred ways to draw steps take their time; test_gpu_steps goes through them in every tree.
mkdir -p "$work/few/a"
find "$work/in/a" -type f | LC_ALL=C sort | head -n 5 | while IFS= read -r f; do cp "$f" "$work/few/a/"; done
"$bin/stoker" pack --on-bad skip "$work/few" "$work/few.stk" >/dev/null 2>&1 || [ $? -eq 2 ]
"$bin/gpu_compare" "$work/few.stk" dummy 4 steps
TMPDIR=$work "$bin/gpu_damage" "$work/p.stk" dummy 4
TMPDIR=$work "$bin/gpu_damage" "$work/p.stk" dummy:pinned=1 2
"$bin/gpu_faults" "$work/p.stk" dummy
"$bin/gpu_stress" "$work/p.stk" dummy 40
