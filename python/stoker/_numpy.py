# SPDX-License-Identifier: Apache-2.0
"""NumPy, imported when it is first used: it is the larger part of what importing stoker would take, and neither
packing nor opening a data set nor a loader on a GPU needs it at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["np"]

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        """Stands for the module. Python's own lock lets one thread import it while the others wait."""

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):  # what inspect and copy ask any object for
                raise AttributeError(name)
            try:
                import numpy
            except ImportError as error:
                raise ImportError(f"stoker needs NumPy for this, which cannot be imported: {error}") from error
            value = getattr(numpy, name)
            setattr(self, name, value)  # from now on it is found without this function
            return value

    np = _Numpy()
