# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Folders of images for the cases. Sourced.

# src/: two classes, five images, a stray file.
make_tree() {
    mkdir -p src/cat src/dog/deep
    cp "$FILES/photo.jpg" src/cat/1.jpg
    cp "$FILES/picture.png" src/cat/2.png
    cp "$FILES/other.jpg" src/dog/3.jpg
    cp "$FILES/grey.jpg" src/dog/deep/4.JPEG
    cp "$FILES/small.png" src/dog/5.png
    echo "no image" >src/dog/.DS_Store
}

# src/ with three bad files among them.
make_bad_tree() {
    make_tree
    cp "$FILES/truncated.jpg" src/cat/truncated.jpg
    cp "$FILES/badcrc.png" src/cat/badcrc.png
    cp "$FILES/garbage.jpg" src/dog/garbage.jpg
}

# The value of a key in a JSON object on stdin.
json_get() { python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)[sys.argv[1]]))' "$1"; }
