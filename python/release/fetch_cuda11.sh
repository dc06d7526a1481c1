#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Gets CUDA 11.8's compiler, which knows the GPUs that CUDA 13 has dropped (Pascal, Volta), without installing it:
# Debian 12's packages of its non-free section, laid out as NVIDIA's own toolkit is (bin, nvvm, include, lib64).
#
#   python/release/fetch_cuda11.sh FOLDER
#
# On Debian, with a network: 860 MB are downloaded, of which 290 MB are kept. FOLDER/bin/nvcc wants a host compiler of
# gcc 11 or older (-ccbin), as the chroot of build_wheel.sh has it.
set -euo pipefail

[ $# -eq 1 ] || { sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 64; }
folder=$(mkdir -p "$1" && cd "$1" && pwd)
[ -x "$folder/bin/nvcc" ] && exit 0
mirror=${STOKER_DEBIAN_MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
    grep -oE '(https?|file)://[^ ]*/debian/?( |$)' | head -n 1 | tr -d ' ' || true)}
work=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT

mkdir -p "$work"/lists/partial "$work"/cache/archives/partial "$work/debs" "$work/root"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm non-free" >"$work/sources.list"
options=(-q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::Lists=$work/lists"
    -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update
(cd "$work/debs" && apt-get "${options[@]}" download nvidia-cuda-toolkit nvidia-cuda-dev)
dpkg -x "$work"/debs/nvidia-cuda-toolkit_*.deb "$work/root"
dpkg --fsys-tarfile "$work"/debs/nvidia-cuda-dev_*.deb |
    tar -x -C "$work/root" --wildcards './usr/include/*' './usr/lib/x86_64-linux-gnu/libcudart_static.a' \
        './usr/lib/x86_64-linux-gnu/libcudadevrt.a'

usr=$work/root/usr
mkdir -p "$folder"/bin "$folder"/nvvm/bin "$folder/lib64"
for program in ptxas fatbinary cudafe++ nvlink bin2c; do cp "$usr/bin/$program" "$folder/bin/"; done
cp -r "$usr/lib/nvidia-cuda-toolkit/bin/crt" "$folder/bin/"
cp "$usr/lib/nvidia-cuda-toolkit/bin/cicc" "$folder/nvvm/bin/"
cp -r "$usr/lib/nvidia-cuda-toolkit/libdevice" "$folder/nvvm/"
cp -r "$usr/include" "$folder/include"
cp "$usr"/lib/x86_64-linux-gnu/*.a "$folder/lib64/"
cat >"$folder/bin/nvcc.profile" <<'PROFILE'
TOP              = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/$(_NVVM_BRANCH_)/libdevice
PATH            += $(TOP)/$(_NVVM_BRANCH_)/bin:$(_HERE_):
INCLUDES        +=  "-I$(TOP)/include" $(_SPACE_)
LIBRARIES        =+ $(_SPACE_) "-L$(TOP)/lib64"
PROFILE
cp "$usr/lib/nvidia-cuda-toolkit/bin/nvcc" "$folder/bin/nvcc"
"$folder/bin/nvcc" --version | tail -n 2
