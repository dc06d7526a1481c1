# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The overview goes to stdout, whoever asks for it.
stoker --help
