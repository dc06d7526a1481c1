#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python package over an extension module built with AddressSanitizer: who owns a batch, exit, fork, Ctrl-C, other
# threads. What is wrong there seldom shows without: a crash in one run of hundreds.
#   tests/python/sanitized.sh python           makes the environment, prints its Python
#   tests/python/sanitized.sh test TREE [ARG...]  runs these tests over TREE/python/_native*.so; ARG: of pytest
# TREE is a build with -DSTOKER_PYTHON=ON -DPython_EXECUTABLE=(that Python) and a sanitizer of gcc.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/python
build=${STOKER_BUILD_DIR:-$root/build}/python-tests
python=${STOKER_PYTHON_EXE:-python3}
mkdir -p "$build"
# shellcheck source=tests/python/environments.sh
. "$here/environments.sh"

if [ "$1" = python ]; then
    make_venv pillow13 "$here/requirements.txt" >&2
    "$build/pillow13/bin/pip" install --quiet --disable-pip-version-check "cffi>=1.17" >&2
    echo "$build/pillow13/bin/python"
    exit
fi

tree=$(cd "$2" && pwd)
shift 2
package=$tree/python-site/stoker
rm -rf "$package"
mkdir -p "$package"
cp "$root"/python/stoker/* "$package"
cp "$tree"/python/_native*.so "$package"

# The sanitizer must be the first library of the process. Its quarantine is small, so that memory that grows is ours.
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
export LD_PRELOAD PYTHONPATH=$tree/python-site PYTHONDONTWRITEBYTECODE=1
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16 UBSAN_OPTIONS=print_stacktrace=1
cd "$build"
"$build/pillow13/bin/python" -c 'import stoker; print(stoker.__file__)' | grep -F "$package"
"$build/pillow13/bin/python" -m pytest -p no:cacheprovider "$@" \
    "$here"/test_{lifetimes,exit,loader,follow,resume,device,sample_transform}.py
