#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the peers that bench/peers/run.sh measures into one virtual environment:
#   bench/peers/setup.sh [FOLDER]        default build/peers; about 6 GB, most of it torch
# FFCV's source package needs OpenCV and TurboJPEG headers and forgets Pillow (docs/performance.md).
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
venv=${1:-$root/build/peers}
sudo=$([ "$(id -u)" = 0 ] && echo env || echo sudo)

if ! pkg-config --exists opencv4 libturbojpeg; then
    $sudo DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        pkg-config g++ python3-dev libturbojpeg0-dev libopencv-dev
fi
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'torch==2.14.1' 'torchvision==0.29.1' pillow numpy setuptools wheel
"$venv/bin/python" -c 'import ffcv' 2>/dev/null ||
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation 'ffcv==1.0.2'
"$venv/bin/pip" install --quiet --disable-pip-version-check "$root"
"$venv/bin/python" -c 'import ffcv, torchvision, stoker; print("peers ready:", ffcv.__version__ if hasattr(ffcv, "__version__") else "ffcv", torchvision.__version__, stoker.__version__)'
