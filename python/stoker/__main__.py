# SPDX-License-Identifier: Apache-2.0
"""``python -m stoker``."""

from __future__ import annotations

import sys

from stoker._command import main

if __name__ == "__main__":
    sys.exit(main())
