#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# stoker beside its peers on the same photographs, one core, in turn:
#   bench/peers/run.sh FOLDER [VENV [ROUNDS]]        VENV: what setup.sh made (default build/peers)
# FOLDER: class folders of JPEGs. Run it on an otherwise idle machine.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:?usage: bench/peers/run.sh FOLDER [VENV [ROUNDS]]}
venv=${2:-$root/build/peers}
rounds=${3:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1

for ((round = 1; round <= rounds; round++)); do
    for peer in stoker ffcv torchvision pil; do
        taskset -c 0 "$venv/bin/python" "$root/bench/peers/measure.py" "$peer" "$folder" "$work" --threads 1 --seconds "${STOKER_PEER_SECONDS:-6}" 2>/dev/null ||
            echo "{\"peer\": \"$peer\", \"error\": \"did not run\"}"
    done
done
