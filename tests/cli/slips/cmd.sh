# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Slips that ended well for nobody: variables that are not set, names of another format, folders inside the source,
# options that do nothing.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_bad_tree
run() {
    stoker "$@" >/dev/null
    code=$?
    [ $code -eq 0 ] || echo "exit $code"
}
run pack -q src x.stk
run pack -q src d/
unset=
for command in info ls verify repair bench stage "extract x.stk" "export x.stk" "pack src" "merge x.stk" "cache stat"; do
    # shellcheck disable=SC2086
    run $command "$unset"
done
for name in y.tar y.tar.gz y.csv y.jsonl y.zip Y.TAR photo.jpg; do run pack -q src $name; done
for k in 1 2; do run pack -q --part $k/2 src p$k.stk; done
for name in y.h5 y.HDF5 y.tar; do run merge p1.stk p2.stk $name; done
run pack -q --format stk src y.csv
run ls y.csv
rm y.csv*
find . -maxdepth 1 -iname 'y*' -o -maxdepth 1 -name 'photo*'

for place in src/q src/new/deep/q src ./src/../src/q; do run pack -q --on-bad quarantine=$place src y.stk; done
run pack -q --cache src/cache src y.stk
tar -C src -cf t.tar cat dog
run pack -q --on-bad quarantine=q t.tar y.stk
run pack -q --on-bad quarantine=q --cache cache src y.stk
find q -type f | sort
(cd src && run pack -q --on-bad quarantine=../q2 . ../z.stk)

run cache stat --max 5G cache
stoker cache clear --json cache
run repair --dry-run --prune d/
run repair src
run stage --dry-run src
run pack --append src src2/
mkdir src2
run pack --append src src2/
# An output that is what it is made of would take the place of its source.
run pack -q src h.h5
cp h.h5 good.h5
ln h.h5 hard.h5
run pack -q -f h.h5 h.h5
run pack -q -f h.h5 hard.h5
cmp h.h5 good.h5
for k in 1 2; do run merge -f p1.stk p2.stk p$k.stk; done
run merge -f --shard-size 1M p1.stk p2.stk m.stk
rm p2.stk.sources
run merge -f p1.stk p2.stk m.stk
run merge -f --shard-size 1M p1.stk p2.stk m/
