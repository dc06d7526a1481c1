# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
stoker pack nowhere x.stk
