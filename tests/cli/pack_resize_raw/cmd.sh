# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What --resize did is said of the form that the records have: small ones are raw, and no JPEG was made of them.
# shellcheck source=tests/cli/files/tree.sh
. "$FILES/tree.sh"
make_tree
for options in "exact=40x30" "exact=120x90" "exact=120x90 --encode raw" "short=60"; do
    # shellcheck disable=SC2086
    stoker pack -f --json --resize $options src x.stk >report.json
    python3 -c 'import json
r = json.load(open("report.json")); print(r["reencoded"], r["resampled"])'
    stoker ls x.stk | cut -f 5 | sort | uniq -c | tr -s ' '
done
