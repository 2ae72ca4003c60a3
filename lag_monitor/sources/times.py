"""Asks where logs were at the rungs of the ladder, and only as far down as somebody is behind. A healthy cluster is asked
nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from lag_monitor.sources.admin import Partition
from lag_monitor.store.table import F64, I64

STEPS = 4  # halvings between two rungs: what came in bursts is still told to a sixteenth of the distance


class Asks(Protocol):
    def offsets(self, partitions: Sequence[Partition], spec: str | float = ...) -> dict[Partition, int]: ...


class AsksAt(Protocol):
    def offsets_at(self, times: Mapping[Partition, float]) -> dict[Partition, int]: ...


def ask_ladder(
    admin: Asks, partitions: Sequence[Partition], lowest: I64, ends: I64, ladder: Sequence[float], now: float
) -> I64:
    """For each partition and rung, where the log was; −1 where it was not asked. `lowest`: how far back somebody is."""
    found = np.full((len(partitions), len(ladder)), -1, np.int64)
    left = np.nonzero(lowest < ends)[0]
    for number, rung in enumerate(ladder):
        if not len(left):
            break
        told = admin.offsets([partitions[at] for at in left.tolist()], now - rung)
        for at in left.tolist():
            offset = told.get(partitions[at])
            if offset is not None:  # −1: nothing is as young as that, so all of it is further back
                found[at, number] = offset if offset >= 0 else ends[at]
        here = found[left, number]
        left = left[(here < 0) | (lowest[left] < here)]
    return found


def refine(
    admin: AsksAt,
    partitions: Sequence[Partition],
    lowest: I64,
    ends: I64,
    ladder: Sequence[float],
    offsets: I64,
    now: float,
    steps: int = STEPS,
) -> tuple[F64, I64]:
    """The ladder with some rungs more for each partition, between the two where whoever is furthest behind stands.
    Rungs and offsets, a row for each partition, nearest first."""
    rungs = np.concatenate(
        [np.broadcast_to(np.array(ladder), offsets.shape), np.full((len(offsets), steps), np.inf)], axis=1
    )
    found = np.concatenate([offsets, np.full((len(offsets), steps), -1, np.int64)], axis=1)
    reached = (offsets >= 0) & (offsets <= lowest[:, None])
    between = reached.any(axis=1) & (lowest < ends)
    far_at = np.argmax(reached, axis=1)
    far = np.array(ladder)[far_at]
    near = np.where(far_at > 0, np.array(ladder)[np.maximum(far_at - 1, 0)], 0.0)
    which = np.nonzero(between)[0].tolist()
    for step in range(steps if which else 0):
        middle = (near + far) / 2
        told = admin.offsets_at({partitions[at]: now - float(middle[at]) for at in which})
        for at in which:
            offset = told.get(partitions[at])
            if offset is None:
                continue
            here = offset if offset >= 0 else int(ends[at])
            found[at, len(ladder) + step], rungs[at, len(ladder) + step] = here, middle[at]
            if here <= lowest[at]:
                far[at] = middle[at]
            else:
                near[at] = middle[at]
    order = np.argsort(rungs, axis=1)
    return np.take_along_axis(rungs, order, axis=1), np.take_along_axis(found, order, axis=1)
