# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The wheel and the virtual environments of the Python tests, under $build. Sourced.
: "${root:?}" "${build:?}" "${python:?}" # of the script that sources this

# make_venv NAME REQUIREMENTS...: an environment made again only when its requirements changed.
make_venv() {
    local venv=$build/$1 stamp want
    shift
    stamp=$venv/requirements.stamp
    want=$("$python" -c 'import sys; print(sys.version)'; cat "$@")
    if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$want" ]; then
        rm -rf "$venv"
        "$python" -m venv "$venv"
        local file
        for file in "$@"; do
            "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$file"
        done
        printf '%s\n' "$want" > "$stamp"
    fi
}

# build_wheel: from the checkout, as a user's pip would; sets $wheel. Objects of an earlier call are used again.
build_wheel() {
    "$python" -m venv "$build/wheel-venv"
    "$build/wheel-venv/bin/pip" install --quiet --disable-pip-version-check 'scikit-build-core>=0.10' 'cffi>=1.17' \
        cmake ninja
    rm -rf "$build/wheel"
    "$build/wheel-venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
        --config-settings=build-dir="$build/cmake" --wheel-dir "$build/wheel" "$root"
    wheel=$(echo "$build"/wheel/stoker-*.whl)
}

# install_wheel NAME: $wheel into an environment, without more than it needs.
install_wheel() {
    "$build/$1/bin/pip" install --quiet --disable-pip-version-check "cffi>=1.15"
    "$build/$1/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"
}
