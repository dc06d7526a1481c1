# SPDX-License-Identifier: Apache-2.0
"""A transform that was translated from somebody else's; a Loader knows it without loading the translators."""

from __future__ import annotations

from typing import Any, Callable, Optional

from stoker._transforms import Transform


class Translated(Transform):
    """What :func:`from_torchvision` gives: a transform with the dtype and normalisation that go with it.

    ``transform`` is done in C. ``rest`` are the steps that could not be translated; a Loader calls them
    on the torch tensors of whole batches, so that their random choices are the same for all of a batch.
    """

    def __init__(
        self,
        transform: Transform,
        *,
        dtype: str,
        norm: str,
        mean: Optional[list[float]],
        std: Optional[list[float]],
        rest: tuple[Callable[[Any], Any], ...],
    ) -> None:
        self.transform = transform
        self.dtype, self.norm, self.mean, self.std, self.rest = dtype, norm, mean, std, rest
        self.size = transform.size
        self._common(transform.filter, transform.pixels, transform.color, transform.mode)
        self._kind = transform._kind

    @property
    def shuffles(self) -> bool:
        return self.transform.shuffles

    def _fill(self, raw: Any, default_mode: str) -> tuple[Any, ...]:
        return self.transform._fill(raw, default_mode)

    def with_size(self, size: Any) -> Translated:
        copy = super().with_size(size)
        assert isinstance(copy, Translated)
        copy.transform = self.transform.with_size(size)
        return copy
