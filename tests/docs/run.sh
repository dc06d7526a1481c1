#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the site with warnings as errors, and runs what the pages show, the notebook and the examples:
#   tests/docs/run.sh [pytest arguments]
# The site goes to build/site; "build/python-tests/docs/bin/mkdocs serve" shows it. Environment, as tests/python/run.sh:
# STOKER_BUILD_DIR, STOKER_PYTHON_EXE, STOKER_JUNIT_DIR (docs.xml goes there).
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
top=${STOKER_BUILD_DIR:-$root/build}
build=$top/python-tests
python=${STOKER_PYTHON_EXE:-python3}
mkdir -p "$build"
# shellcheck source=tests/python/environments.sh
. "$root/tests/python/environments.sh"

build_wheel
make_venv docs "$root/tests/docs/requirements.txt"
install_wheel docs
site=$("$build/docs/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
cp "$root/tests/docs/cpu_torchvision.py" "$site/"
echo "import cpu_torchvision" >"$site/cpu_torchvision.pth"

junit=()
if [ -n "${STOKER_JUNIT_DIR:-}" ]; then
    junit=(--junitxml="$STOKER_JUNIT_DIR/docs.xml")
fi
# The site is built by a test, so that a warning shows like any other failure.
export STOKER_SITE_DIR=$top/site
cd "$build"
exec docs/bin/python -m pytest -p no:cacheprovider "${junit[@]}" "$root/tests/docs" \
    "$root/tests/python/test_examples.py" "$@"
