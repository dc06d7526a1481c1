# SPDX-License-Identifier: Apache-2.0
"""MixUp and CutMix: each image of a batch mixed with another, and their labels. The work is done in C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from stoker._enums import MIX_MODES, constant
from stoker._errors import ArgumentError
from stoker._numbers import real, whole
from stoker._numpy import np
from stoker._steps import probability

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Mix:
    """torchvision's v2.MixUp and v2.CutMix, and timm's Mixup, on finished batches.

    Labels are then float32 of shape (n, num_classes), as torchvision makes them: what nn.CrossEntropyLoss takes.
    ``loader.batch.mixed`` has the two labels of each row and the share of the first.

    mixup, cutmix: alpha of the Beta distribution that a batch's share is drawn from, 0: never. p: how often a
    batch is mixed at all. switch: with both, how often CutMix is taken. num_classes: None: as many as the data
    set has classes. mode: what has a choice of its own, "batch", "pair" (two images that are mixed with each
    other; of an odd number one is left alone) or "elem" (each image), timm's words for it; p and switch are then
    those of a pair or an image. correct_lam: whether CutMix's shares are those of the box after clipping, or as
    drawn.
    """

    def __init__(
        self,
        mixup: float = 0.0,
        cutmix: float = 0.0,
        *,
        p: float = 1.0,
        switch: float = 0.5,
        num_classes: Optional[int] = None,
        mode: str = "batch",
        correct_lam: bool = True,
    ) -> None:
        for name, alpha in (("mixup", mixup), ("cutmix", cutmix)):
            give = "give alpha, 0.01 ... 1000, or 0 for never"
            if real(name, alpha, 0, 1000, give) != 0:
                real(name, alpha, 0.01, 1000, give)
        if num_classes is not None:
            num_classes = whole("num_classes", num_classes, 1, 2**31 - 1, "give a whole number, 1 or more")
        self.mixup, self.cutmix = float(mixup), float(cutmix)
        self.p, self.switch = probability("p", p), probability("switch", switch)
        self.num_classes = num_classes
        constant(MIX_MODES, "mode", mode)
        self.mode, self.correct_lam = mode, bool(correct_lam)

    def __bool__(self) -> bool:
        """Whether it ever mixes."""
        return self.mixup > 0 or self.cutmix > 0

    def _fill(self, raw: Any) -> None:
        """Writes this into an stk_mix."""
        raw.mixup_alpha, raw.cutmix_alpha = self.mixup, self.cutmix
        raw.probability, raw.switch_probability = self.p, self.switch
        raw.mode, raw.shares_as_drawn = MIX_MODES[self.mode], not self.correct_lam

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v!r}" for k, v in self.__dict__.items())
        return f"stoker.Mix({fields})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mix) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(repr(self))


class Mixed(NamedTuple):
    """The labels of a mixed batch: row i is ``shares[i]`` of the image with ``labels[i]``, the rest with
    ``partners[i]``. Rows that were not mixed have a share of 1."""

    labels: NDArray[np.int64]
    partners: NDArray[np.int64]
    shares: NDArray[np.float32]

    def soft(self, num_classes: int) -> NDArray[np.float32]:
        """float32 of shape (n, num_classes), each row's shares at its labels; torchvision's own additions."""
        lowest, highest = (int(f(self.labels)) for f in (np.min, np.max)) if len(self.labels) else (0, 0)
        if lowest < 0 or highest >= num_classes:
            wrong = lowest if lowest < 0 else highest
            raise ArgumentError(
                f"mixing needs a label of 0 ... {num_classes - 1} for each record, but one has "
                + ("none" if wrong < 0 else f"{wrong}; give stoker.Mix(num_classes=...)")
            )
        rows = np.arange(len(self.labels))
        soft = np.zeros((len(rows), num_classes), np.float32)
        # A share is the float32 that C multiplied by; its counterpart is rounded from the double, as there.
        soft[rows, self.partners] = (1.0 - self.shares.astype(np.float64)).astype(np.float32)
        soft[rows, self.labels] += self.shares
        return soft
