# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Every command has its help, on stdout, with exit code 0.
for command in pack info ls extract verify bench merge cache export; do
    stoker $command --help | head -n 1
    stoker help $command | head -n 1
done
