"""Looks into partitions whose readers seem to stand still just before the end: is there anything to read at all? Once for
each position, and a few at each look.
"""

import threading

import numpy as np

from lag_monitor.judge.observing import Looked
from lag_monitor.sources.admin import Partition
from lag_monitor.sources.markers import Peeker
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.windows import UNPROVED
from lag_monitor.watch import Watch

MOST = 200  # partitions at each look


class Peeking:
    def __init__(self, watch: Watch, store: ClusterStore, lock: threading.RLock) -> None:
        self._watch, self._store, self._lock = watch, store, lock
        self._peeker = Peeker(watch.address, watch.settings)
        self._full: dict[int, int] = {}  # row → position from which there is something to read
        self._generation = store.generation
        self.peeked = 0  # since the start

    def peek(self, looked: Looked) -> None:
        with self._lock:
            asked = self._candidates(looked)
        if not asked:
            return
        peeked = self._peeker.peek([(part, position) for part, (_, position) in asked.items()], self._watch.timeout / 3)
        self.peeked += len(asked)
        windows = self._store.windows
        with self._lock:
            for part, (row, position) in asked.items():
                windows.flags[row] &= ~np.uint8(UNPROVED)
                if part in peeked.full:
                    self._full[row] = position
                elif part in peeked.denied:
                    windows.flags[row] |= np.uint8(UNPROVED)
                elif part in peeked.clear_to and windows.committed[row] == looked.committed[row]:
                    windows.clear_to[row] = max(peeked.clear_to[part], position)

    def _candidates(self, looked: Looked) -> dict[Partition, tuple[int, int]]:
        """Row and position, for each partition but once: of two groups in one place, the other has its turn next time."""
        store = self._store
        windows, heads = store.windows, store.heads
        if self._generation != store.generation:  # a row may be another's now
            self._full, self._generation = {}, store.generation
        asked: dict[Partition, tuple[int, int]] = {}
        behind = (looked.lag[looked.rows] > 0) & (looked.committed[looked.rows] >= 0)
        for row in looked.rows[behind].tolist():
            head, position = int(windows.head[row]), int(looked.position[row])
            still = looked.now - store.began - windows.moved_at[row] / 10 >= self._watch.patience.interval
            if head < 0 or not still or self._full.get(row) == position or position > heads.stable[head]:
                continue
            part = heads.named(head)
            if part not in asked and len(asked) < MOST and position >= heads.start[head]:
                asked[part] = (row, position)
        return asked
