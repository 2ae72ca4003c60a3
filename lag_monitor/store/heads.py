"""Where each partition's log ends, now and a while ago; up to where committed records go; and where it begins."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from lag_monitor.store.table import F64, I32, I64, Table

NONE = -1


class Heads(Table):
    PLAIN: ClassVar = {
        "topic": (np.int32, NONE),  # place in `names`
        "partition": (np.int32, NONE),
        "stable": (np.int64, NONE),  # last stable offset
        "start": (np.int64, NONE),
        "asked_at": (np.float64, 0.0),  # when the ends were last told
        "dark": (np.float64, 0.0),  # seconds that had gone by then without an answer
        "bounds_at": (np.float64, 0.0),  # when the last stable offset and the start were last told
        "waits_since": (np.float64, 0.0),  # it was first seen where it is, before the end; 0 if it is at the end
        "print": (np.int64, 0),  # of the topic's id
    }
    WIDE: ClassVar = {"ends": (np.int64, NONE)}

    topic: I32
    partition: I32
    stable: I64
    start: I64
    asked_at: F64
    dark: F64
    bounds_at: F64
    waits_since: F64
    print: I64
    ends: I64

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.rows: dict[str, I32] = {}  # topic → row of each partition
        self.names: list[str] = []
        self._places: dict[str, int] = {}
        self._free_places: list[int] = []

    def topic_rows(self, topic: str, total: int) -> I32:
        """Made where there are none yet. A topic never gets fewer."""
        rows = self.rows.get(topic)
        have = 0 if rows is None else len(rows)
        if rows is not None and have >= total:
            return rows
        new = self.allocate(total - have)
        place = self._places.get(topic)
        if place is None:
            place = self._places[topic] = self._place(topic)
        self.topic[new] = place
        self.partition[new] = np.arange(have, total)
        self.rows[topic] = new if rows is None else np.concatenate([rows, new])
        return self.rows[topic]

    def add(self, rows: I32, ends: I64) -> None:
        """One more end for each of these, every row but once."""
        self.ends[rows, :-1] = self.ends[rows, 1:]
        self.ends[rows, -1] = ends

    def told(self, rows: I32, ends: I64, now: float) -> None:
        self.add(rows, ends)
        before = self.asked_at[rows]
        self.dark[rows] = np.where(before > 0, now - before, 0.0)
        self.asked_at[rows] = now

    def told_bounds(self, rows: I32, stable: I64, start: I64, now: float) -> None:
        """Of partitions whose ends were just told. A last stable offset that was not looked at has not stood still."""
        before = self.waits_since[rows]
        since = np.where((self.stable[rows] == stable) & (before > 0), before, now)
        self.waits_since[rows] = np.where(stable < self.ends[rows, -1], since, 0.0)
        self.stable[rows], self.start[rows], self.bounds_at[rows] = stable, start, now

    def latest(self, rows: I32) -> I64:
        """−1 where none was ever told."""
        ends: I64 = self.ends[rows, -1]
        return ends

    def find(self, topic: str, partition: int) -> int:
        """The row of a partition whose end is known, or −1."""
        rows = self.rows.get(topic)
        if rows is None or not 0 <= partition < len(rows) or self.ends[rows[partition], -1] < 0:
            return NONE
        return int(rows[partition])

    def named(self, row: int) -> tuple[str, int]:
        """Topic and partition."""
        return self.names[self.topic[row]], int(self.partition[row])

    def listed(self, topic: str) -> list[int]:
        """The newest end of each partition that has one."""
        ends: Sequence[int] = self.latest(self.rows[topic]).tolist()
        return [end for end in ends if end >= 0]

    def lowest(self) -> I64:
        """Of each row, the lowest end that is remembered; beyond everything where there is none."""
        ends = self.ends[: self.used]
        lowest: I64 = np.where(ends < 0, np.iinfo(np.int64).max, ends).min(axis=1)
        return lowest

    def forget(self, topic: str) -> I32:
        rows = self.rows.pop(topic, np.empty(0, np.int32))
        self.free(rows)
        if topic in self._places:
            self._free_places.append(self._places.pop(topic))
        return rows

    def _place(self, topic: str) -> int:
        if not self._free_places:
            self.names.append(topic)
            return len(self.names) - 1
        place = self._free_places.pop()
        self.names[place] = topic
        return place
