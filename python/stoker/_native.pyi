# SPDX-License-Identifier: Apache-2.0
# The cffi module: its types exist at run time only.
from typing import Any

ffi: Any
lib: Any
