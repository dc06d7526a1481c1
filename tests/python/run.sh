#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel, installs it in bare virtual environments, and runs the Python tests there:
#   tests/python/run.sh [pytest arguments]
# Needs python3 with venv and a C compiler with the development packages that quickstart names. Environment:
#   STOKER_CORPUS       the corpus of real files; tests that need it are reported as skipped without it
#   STOKER_BUILD_DIR    where environments and wheel go (default: build/ of the checkout)
#   STOKER_PYTHON_EXE   the Python to test (default: python3)
#   STOKER_TEST_TORCH   1: the tests that need torch, torchvision, Lightning, accelerate, JAX and h5py too, in an
#                       environment of their own (several GB); without it they are reported as skipped
#   STOKER_JUNIT_DIR    where to write python-pillow13.xml, python-pillow12.xml and python-torch.xml
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${STOKER_BUILD_DIR:-$root/build}/python-tests
python=${STOKER_PYTHON_EXE:-python3}
mkdir -p "$build"

# shellcheck source=tests/python/environments.sh
. "$root/tests/python/environments.sh"

echo "== wheel"
build_wheel
echo "$wheel"

here=$root/tests/python
make_venv pillow13 "$here/requirements.txt"
make_venv pillow12 "$here/requirements-pillow12.txt"
venvs=(pillow13 pillow12)
if [ "${STOKER_TEST_TORCH:-0}" = 1 ]; then
    make_venv torch "$here/requirements.txt" "$here/requirements-torch.txt"
    venvs+=(torch)
fi
for venv in "${venvs[@]}"; do
    install_wheel "$venv"
done

# The same tests twice where it matters: pixels are compared with the Pillow of the environment.
run_pytest() {
    local venv=$1 junit=()
    shift
    if [ -n "${STOKER_JUNIT_DIR:-}" ]; then
        junit=(--junitxml="$STOKER_JUNIT_DIR/python-$venv.xml")
    fi
    "$build/$venv/bin/python" -m pytest -p no:cacheprovider "${junit[@]}" "$@"
}

tests=("$here")
if compgen -G "$root/tests/corpus/test_*.py" >/dev/null; then
    tests+=("$root/tests/corpus")
fi
cd "$build"
status=0
echo "== tests (Pillow 13)"
run_pytest pillow13 "${tests[@]}" "$@" || status=$?
echo "== pixels against Pillow 12.3"
run_pytest pillow12 "$here/test_pillow.py" || status=$?
if [ "${STOKER_TEST_TORCH:-0}" = 1 ]; then
    echo "== beside torch and others"
    run_pytest torch "$here"/test_{torch,trainers,examples,beside,device,follow,loose,sample_transform,timm,views,writer}.py || status=$?
fi
exit $status
