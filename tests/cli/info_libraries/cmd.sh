# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# info names the libraries in use, and those older than the release that closed a known hole.
stoker pack -q --encode keep "$DATA/clothing" x.stk
stoker info --json x.stk | python3 -c '
import json, sys
def number(text):
    return [int(part) for part in text.split(".")]
for library in json.load(sys.stdin)["libraries"]:
    closed = library.get("closed_from")
    want = closed is not None and number(library["version"]) < number(closed)
    if library["suspect"] != want:
        print("wrong:", library)
    if library["name"] in ("libjpeg-turbo", "libpng"):
        print(library["name"])
'
# A data set of JPEGs meets neither libwebp nor libhdf5.
stoker info x.stk | grep -c 'known holes'
exit 0
