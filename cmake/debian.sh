# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages that stoker needs, and how missing ones are installed. Sourced by quickstart and
# tests/run.sh; changes nothing by itself.

# To build the library, the command and the examples.
# shellcheck disable=SC2034  # used by those who source this
stoker_build_packages=(gcc libc6-dev cmake ninja-build pkg-config libjpeg-dev libpng-dev zlib1g-dev libxxhash-dev
    libjansson-dev libwebp-dev libtiff-dev libgif-dev libhdf5-dev libdeflate-dev liblzf-dev liblmdb-dev libarchive-dev)
# To build the Python module with Debian's own Python.
# shellcheck disable=SC2034
stoker_python_packages=(python3 python3-venv python3-dev)
# To run every test.
# shellcheck disable=SC2034
stoker_test_packages=(g++ clang libomp-dev valgrind shellcheck ccache git python3 python3-venv python3-dev zstd)

# Is Debian's Python the one that builds the module? Another, of conda say, brings along what it needs.
stoker_uses_debian_python() {
    case "$(command -v python3)" in
    "" | /usr/bin/* | /bin/*) return 0 ;;
    *) return 1 ;;
    esac
}

# Prints those of the packages named that are not installed. A machine without dpkg has none of them.
stoker_missing_packages() {
    local package
    for package in "$@"; do
        if ! dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed'; then
            echo "$package"
        fi
    done
}

# Installs what is missing; asks for root rights only then. Returns 1 with a message when it cannot.
stoker_install_packages() {
    local missing sudo=()
    mapfile -t missing < <(stoker_missing_packages "$@")
    if [ "${#missing[@]}" -eq 0 ]; then
        return 0
    fi
    if ! command -v apt-get >/dev/null; then
        echo "no apt-get here; install what these Debian packages hold: ${missing[*]}" >&2
        return 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "not root and no sudo; as root: apt-get install ${missing[*]}" >&2
            return 1
        fi
        sudo=(sudo)
    fi
    echo "installing ${missing[*]}"
    # A list of packages that was never fetched, or is old, is the usual reason for a failure.
    if ! "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "${missing[@]}" >/dev/null 2>&1; then
        "${sudo[@]}" apt-get update -qq || return 1
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            "${missing[@]}" >/dev/null || return 1
    fi
}
