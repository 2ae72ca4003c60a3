"""Asks where logs were at the rungs of the ladder, and only as far down as somebody is behind. A healthy cluster is asked
nothing.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from lag_monitor.sources.admin import Partition
from lag_monitor.store.table import I64


class Asks(Protocol):
    def offsets(self, partitions: Sequence[Partition], spec: str | float = ...) -> dict[Partition, int]: ...


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
