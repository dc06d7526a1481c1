#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that a machine with a GPU can tell in one go (docs/gpu.md): comparisons, failures, rates, peers, training.
#
#   [LIMIT=SECONDS] bench/gpu/all.sh BIN DATA.stk OUT [STEP...]
#
# BIN holds stoker, gpu_compare, gpu_damage, gpu_stress, gpu_faults, bench_uploader, libstoker.so.0, libstoker_cuda13.so
# and libstoker_feed.so, with whatever libraries these need that the machine has not, and may hold
# cuda11/libstoker_cuda11.so and wheels of stoker and cffi. DATA.stk: photographs as tiles.
# Logs go to OUT, one a step, and the last lines of each to stdout. A step that fails, or runs out of its time, does not
# stop the others; none begins after LIMIT. python3 is the one with torch.
set -uo pipefail

bin=$(cd "$1" && pwd) data=$(realpath "$2") out=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
export LD_LIBRARY_PATH=$bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PYTHONUNBUFFERED=1 TMPDIR=$work
wanted=" $* "

# step NAME SECONDS LINES: runs the function NAME, shows its last lines.
step() {
    [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]] || return 0
    local begin=$SECONDS rc=0
    if [ "$begin" -ge "${LIMIT:-86400}" ]; then
        echo "== $1: no time left"
        return
    fi
    export -f "${1?}"
    timeout "$2" bash -c "$1" >"$out/$1.txt" 2>&1 || rc=$?
    echo "== $1: exit $rc, $((SECONDS - begin)) s"
    tail -n "$3" "$out/$1.txt"
}
export bin data here work

machine() {
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
    nproc
    python3 -c 'import torch, torchvision; print(torch.__version__, torchvision.__version__)'
}

# 50,000 pictures of 32x32 as raw records, and the photographs as JPEG files.
prepare() {
    python3 - "$work" <<'PYTHON'
import os, struct, sys
head = b"BM" + struct.pack("<IHHI", 54 + 3072, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 32, 32, 1, 24, 0, 3072, 0, 0, 0, 0)
for name, n in (("raw", 50000), ("few", 500)):
    for k in range(10):
        os.makedirs(f"{sys.argv[1]}/{name}/{k}")
    for i in range(n):
        with open(f"{sys.argv[1]}/{name}/{i % 10}/{i:05}.bmp", "wb") as file:
            file.write(head + os.urandom(3072))
PYTHON
    "$bin/stoker" pack --no-progress --encode raw "$work/few" "$work/few32.stk"
    "$bin/stoker" pack --no-progress --encode raw "$work/raw" "$work/raw32.stk"
    rm -r "$work/raw" "$work/few"
    "$bin/stoker" extract --no-progress "$data" "$work/jpeg"
}

compare() {
    "$bin/gpu_compare" "$data" cuda 64 | grep -v ^ok
    STOKER_CUDA_KERNEL=plain "$bin/gpu_compare" "$data" cuda 64 stages | tail -n 1
    "$bin/gpu_compare" "$work/few32.stk" cuda 64 | tail -n 1
}

damage() {
    "$bin/gpu_damage" "$data" cuda 4
    STOKER_CUDA_KERNEL=plain "$bin/gpu_damage" "$data" cuda 4 2
    STOKER_CUDA_PINNED=off "$bin/gpu_damage" "$data" cuda 2 3
}

# The part that nvcc 11.8 built.
compare_cuda11() {
    [ -d "$bin/cuda11" ] || { echo "skipped: no cuda11 folder"; return; }
    export STOKER_CUDA_PATH=$bin/cuda11/libstoker_cuda11.so
    "$bin/gpu_compare" "$data" cuda 64 | tail -n 1
    STOKER_CUDA_KERNEL=plain "$bin/gpu_compare" "$data" cuda 64 stages | tail -n 1
    "$bin/bench_uploader" "$data" batch=256 threads=1 streams=1 resident=1 decode=gpu seconds=1
    unset STOKER_CUDA_PATH
    "$bin/bench_uploader" "$data" batch=256 threads=1 streams=1 resident=1 decode=gpu seconds=1
}

faults() {
    "$bin/gpu_faults" "$data" cuda
}

# Two processes on one device.
processes() {
    "$bin/gpu_stress" "$data" cuda 600 1 &
    "$bin/gpu_stress" "$data" cuda 600 2
    wait
}

small_images() {
    for threads in 1 2 4; do
        for _ in 1 2; do
            "$bin/bench_uploader" "$work/raw32.stk" transform=padcrop batch=1024 resident=1 threads=$threads seconds=1 repeats=64
        done
    done
    "$bin/bench_uploader" "$work/raw32.stk" transform=padcrop batch=4096 resident=1 threads=2 seconds=1 repeats=64
}

rates() {
    for threads in 1 2 8; do
        "$bin/bench_uploader" "$data" batch=256 threads=$threads decode=gpu seconds=1
    done
    for batch in 64 256 1024; do
        "$bin/bench_uploader" "$data" batch=$batch threads=1 resident=1 seconds=1
    done
    "$bin/bench_uploader" "$data" batch=256 threads=15 decode=cpu seconds=2
}

# Steps and mixing on the device (gpu_compare has compared their bytes by then), each beside the same without.
steps() {
    for steps in none jitter rand blur erase mix all; do
        "$bin/bench_uploader" "$data" batch=256 threads=8 resident=1 decode=gpu seconds=1 steps=$steps
    done
    for steps in none rand all; do
        "$bin/bench_uploader" "$work/raw32.stk" transform=padcrop batch=1024 resident=1 decode=gpu threads=2 seconds=1 steps=$steps
    done
}

# What decode=auto comes to.
choices() {
    for threads in 1 2 15; do
        "$bin/bench_uploader" "$data" batch=256 threads=$threads seconds=1
        "$bin/bench_uploader" "$work/raw32.stk" transform=padcrop batch=1024 threads=$threads seconds=1
    done
}

peers() {
    python3 "$here/compare_decoders.py" "$work/jpeg" --seconds 5
}

train() {
    timeout 60 taskset -c "$1" python3 "$here/train_resnet.py" "$data" --feed "$bin/libstoker_feed.so" "${@:2}"
}
export -f train

one_core() {
    for core in 3 5 7; do
        train $core --steps 25
    done
    train 3 --steps 25 --resident
    train 3 --steps 15 --arch resnet50
}

small_training() {
    for batch in 256 1024; do
        train 2,3 --size 64 --batch $batch --steps 100
        train 2,3 --size 64 --batch $batch --steps 100 --resident
    done
}

cpu_training() {
    train 0-15 --decode cpu --threads 16 --steps 25
}

overlap() {
    train 0-15 --steps 20 --rounds 1 --trace "$work/trace.json"
    python3 "$here/overlap.py" "$work/trace.json"
}

python_package() {
    python3 -m pip install -q --no-index --no-deps --target "$work/site" "$bin"/*.whl || return
    cp "$bin"/libstoker_cuda13.so "$work/site/stoker/"
    cd "$here/../.." || return
    PYTHONPATH=$work/site python3 -m pytest -q -p no:cacheprovider tests/python/test_device.py
}

sanitizer() {
    command -v compute-sanitizer || { echo "skipped: no compute-sanitizer"; return; }
    local check=(compute-sanitizer --error-exitcode 3 --tool)
    timeout 60 "${check[@]}" memcheck "$bin/gpu_damage" "$data" cuda 4 5 | tail -n 2
    timeout 60 "${check[@]}" racecheck "$bin/gpu_damage" "$data" cuda 4 6 | tail -n 2
    timeout 30 "${check[@]}" memcheck "$bin/bench_uploader" "$work/few32.stk" transform=padcrop batch=50 resident=1 threads=1 \
        seconds=0.2 | tail -n 2
    timeout 30 "${check[@]}" racecheck "$bin/bench_uploader" "$work/few32.stk" transform=padcrop batch=50 resident=1 threads=1 \
        seconds=0.2 | tail -n 2
}

step machine 30 4
step prepare 60 3
step compare 180 12
step damage 40 6
step compare_cuda11 120 5
step faults 30 25
step python_package 60 6
step small_images 30 8
step rates 40 10
step steps 40 10
step one_core 120 8
step small_training 100 8
step cpu_training 50 2
step peers 75 10
step choices 40 8
step processes 40 4
step overlap 60 3
step sanitizer 190 10
