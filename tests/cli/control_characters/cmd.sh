# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Names with escape sequences, C1 controls and newlines reach no terminal: not in messages, not in info; ls keeps the
# bytes for other programs.
escape=$(printf 'a\033[31mb\302\233c\nd')
mkdir -p "src/$escape"
cp "$FILES/photo.jpg" "src/$escape/x.jpg"
cp "$FILES/garbage.jpg" "src/$escape/bad.jpg"
stoker pack --encode keep src x.stk
stoker info --classes x.stk | grep -a class
stoker ls -0 x.stk | grep -caz "$(printf '\033')"
python3 - <<'PY'
data = bytearray(open("x.stk", "rb").read())
data[600] ^= 1
open("x.stk", "wb").write(data)
PY
stoker verify x.stk
stoker extract x.stk out
exit 0
