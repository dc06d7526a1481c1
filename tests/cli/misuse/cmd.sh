# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A wrong command line is exit code 64, and nothing on stdout.
try() {
    stoker "$@"
    echo "exit $?" >&2
}
try
try nonsense
try pack
try pack only-one
try pack a b c
try pack --nonsense a b
try pack -x a b
try pack --quality
try pack --quality 0 a b
try pack --quality=101 a b
try pack --quality 9x a b
try pack --encode=best a b
try pack --json=1 a b
try pack --resize 256 a b
try pack --resize exact=0x3 a b
try pack --shard-size 12Q a b
try pack --on-damaged keep=colour a b
try pack --on-bad quarantine= a b
try info a b
try bench --seconds nan x
try bench --size 0 x
try extract x
