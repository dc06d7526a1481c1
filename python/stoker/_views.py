# SPDX-License-Identifier: Apache-2.0
"""views=: several views of each image with a transform each, of different sizes (multi-crop).

Views next to each other that have the same transform are made by one C loader; the loaders run in step. What is
drawn for view v of a sample depends on v and not on who makes it, so the grouping is not to be seen in the pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from stoker._batch import BatchInfo, keep_rows
from stoker._errors import ArgumentError, InternalError
from stoker._in_step import CoresInStep
from stoker._native import ffi, lib
from stoker._transforms import Transform
from stoker._translated import Translated

if TYPE_CHECKING:
    from stoker._core import Core

Convert = Callable[[Any], tuple[Any, BatchInfo]]

# Counters of work and means: the groups' are added. The others count the same samples and batches.
_ADDED = (
    *("bytes_read", "read_s", "decode_s", "gather_s", "worker_wait_s", "consumer_wait_s", "surplus_slots"),
    *("n_threads", "slots", "uploaded_bytes", "resident_bytes"),
)


class Group(NamedTuple):
    """Views first ... first + n - 1, which have one transform."""

    transform: Transform
    first: int
    n: int


def groups(views: Sequence[Transform]) -> tuple[Group, ...]:
    """The views in their order, neighbours with equal transforms together."""
    found: list[Group] = []
    for number, transform in enumerate(views):
        if found and found[-1].transform == transform:
            found[-1] = found[-1]._replace(n=found[-1].n + 1)
        else:
            found.append(Group(transform, number, 1))
    return tuple(found)


def check(views: Any, *, transform: Optional[Transform], n_views: int, on_bad: str, per_sample: bool) -> None:
    """What does not go with views=."""
    if not isinstance(views, Sequence) or not views or not all(isinstance(v, Transform) for v in views):
        raise ArgumentError(
            f"views={views!r}: give a list of transforms, [stoker.Train(224), stoker.Train(96)] say"
        )
    if transform is not None or n_views != 1:
        other = "transform" if transform is not None else "n_views"
        raise ArgumentError(f"views= has a transform for each view: leave {other} out")
    if on_bad == "substitute":
        raise ArgumentError('views= goes with on_bad="error" or "skip"')
    if per_sample:
        raise ArgumentError("views= does not go with sample_transform=; use n_views= for views of one size")
    plain = [v.transform if isinstance(v, Translated) else v for v in views]
    mixing = next((v for v in plain if v.mix), None)
    if mixing is not None:
        raise ArgumentError(f"views= cannot be mixed: {mixing.mix!r}")
    _check_translated(views)


def check_steps(views: Sequence[Transform]) -> None:
    """views: the transform of each view. Refuses a step for views that its transform does not make."""
    for transform in views:
        plain = transform.transform if isinstance(transform, Translated) else transform
        for step in plain.steps:
            made = [number for number, other in enumerate(views) if other == transform]
            if step.views and not set(step.views) & set(made):
                raise ArgumentError(
                    f"{step!r} is never taken: its transform makes "
                    + (f"view {made[0]} only" if len(made) == 1 else f"views {', '.join(map(str, made))}")
                )


def _check_translated(views: Sequence[Transform]) -> None:
    """All views have one dtype and one normalisation."""
    kinds = {
        (v.dtype, v.norm, tuple(v.mean or ()), tuple(v.std or ())) if isinstance(v, Translated) else None
        for v in views
    }
    if len(kinds) > 1:
        raise ArgumentError("views=: all views have one dtype and one normalisation, but these differ")
    for view in views:
        if isinstance(view, Translated) and view.rest:
            raise ArgumentError(
                f"views=: {view.rest[0]!r} is not done in C, and cannot be called on several views"
            )


class ViewsCore(CoresInStep):
    """One core a group."""

    def __init__(self, cores: list[Core]) -> None:
        others: dict[str, Core] = {str(number): core for number, core in enumerate(cores[1:])}
        super().__init__(cores[0], others, {})

    def stats(self) -> dict[str, Any]:
        stats: dict[str, Any] = self._images.stats()
        for core in self._others.values():
            more = core.stats()
            for name in _ADDED:
                if name in stats:
                    stats[name] += more[name]
        return stats


class ViewsConverter:
    """Puts the groups' batches together: a tuple of one batch a view; all else has one row a sample."""

    def __init__(self, converts: list[Convert], sizes: list[int], skip_bad: bool) -> None:
        """sizes: views of each group."""
        self._converts, self._sizes, self._skip_bad = converts, sizes, skip_bad

    def __call__(self, slots: Any) -> tuple[Any, BatchInfo]:
        slots = [slots[0], *slots[1].values()]
        if self._skip_bad:
            _bad_in_all([_batch(slot) for slot in slots], self._sizes)
        made = [convert(slot) for convert, slot in zip(self._converts, slots)]
        out, info = made[0]
        infos = [one_row_a_sample(i, n) for (_, i), n in zip(made, self._sizes)]
        if any(_identity(other) != _identity(infos[0]) for other in infos[1:]):
            raise InternalError("views came out of step")
        images: tuple[Any, ...] = ()
        for (part, _), n in zip(made, self._sizes):
            some = part["image"] if isinstance(part, dict) else part[0]
            images += some if n > 1 else (some,)
        info = infos[0]
        if not isinstance(out, dict):
            return (images, out[1]), info
        named = {"image": images, "label": out["label"], "id": info.ids, "n_valid": info.n_valid}
        columns = {name: rows[:: self._sizes[0]] for name, rows in out.items() if name not in named}
        return {**named, **columns}, info


class OneRowASample:
    """n_views=: C counts views; what is handed out beside the images has one row a sample, as labels have."""

    def __init__(self, convert: Convert, n_views: int) -> None:
        self._convert, self._n_views = convert, n_views

    def __call__(self, slot: Any) -> tuple[Any, BatchInfo]:
        out, info = self._convert(slot)
        info = one_row_a_sample(info, self._n_views)
        if not isinstance(out, dict):
            return out, info
        named = {**out, "id": info.ids, "n_valid": info.n_valid}
        for name, rows in out.items():
            # Images, and masks and boxes that go along with them, are tuples of one part a view.
            if name not in ("image", "label", "id", "n_valid") and not isinstance(rows, tuple):
                named[name] = rows[:: self._n_views]
        return named, info


def _identity(info: BatchInfo) -> tuple[Any, ...]:
    return info.epoch, info.number, info.n_valid, info.ids.tobytes(), info.occurrences.tobytes()


def one_row_a_sample(info: BatchInfo, n: int) -> BatchInfo:
    """n: views that are side by side in it."""
    return info._replace(
        n_valid=info.n_valid // n,
        ids=info.ids[::n],
        occurrences=info.occurrences[::n],
        statuses=info.statuses[::n],
        mixed=keep_rows(info.mixed, slice(None, None, n)),  # all views of a sample are mixed alike
    )


def _batch(slot: Any) -> Any:
    """The C batch, of either kind."""
    return lib.stk_py_slot_batch(slot) or lib.stk_py_slot_device_batch(slot)


def _bad_in_all(raws: list[Any], sizes: list[int]) -> None:
    """A sample that one view cannot show is bad in all: the damage may lie outside of the others' crops."""
    samples = [raw.n // n for raw, n in zip(raws, sizes)]
    if len(set(samples)) != 1:
        raise InternalError("views came out of step")
    statuses = [ffi.cast("int32_t *", raw.statuses) for raw in raws]
    for sample in range(samples[0]):
        bad = next((s[sample * n] for s, n in zip(statuses, sizes) if s[sample * n] != lib.STK_OK), lib.STK_OK)
        if bad != lib.STK_OK:
            for some, n in zip(statuses, sizes):
                for view in range(n):
                    some[sample * n + view] = bad
