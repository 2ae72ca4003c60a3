"""Records of `__consumer_offsets` into the store, thousands at a time. What is malformed is counted and passed over. Pure.

The same keys come again and again, so where each leads is remembered, for as many as are worth the memory.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lag_monitor.offsets_topic.keys import CommitKey, GroupKey, decode_key
from lag_monitor.offsets_topic.members import Memberships
from lag_monitor.offsets_topic.reading import Malformed
from lag_monitor.offsets_topic.values import decode_values
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.heads import NONE

REMEMBERED = 65_536  # keys
PARTITION = 4  # bytes, the last of a key
Record = tuple[bytes | None, bytes | None, int]  # key, value, offset in its partition


@dataclass(slots=True)
class Taken:
    """Counts, since the start."""

    commits: int = 0
    tombstones: int = 0
    groups: int = 0
    malformed: int = 0
    dropped: Counter[str] = field(default_factory=Counter)  # by reason


class Taker:
    def __init__(self, store: ClusterStore) -> None:
        self._store = store
        self.members = Memberships()
        self.counts = Taken()
        self._rows: dict[bytes, int] = {}
        self._names: dict[bytes, tuple[str, str]] = {}  # group and topic, by a key without its partition
        self._generation = store.generation
        self._doomed: dict[str, int] = {}  # groups that were deleted, and where that stands
        self._withdrawn: list[tuple[CommitKey, int]] = []

    def take(self, records: Sequence[Record], now: int) -> None:
        """In the order in which they stand in their partitions."""
        if self._generation != self._store.generation or len(self._rows) > REMEMBERED:
            self._rows, self._names, self._generation = {}, {}, self._store.generation
        keys: list[bytes] = []
        values: list[bytes] = []
        orders: list[int] = []
        for key, value, order in records:
            if key is None or len(key) < 2:
                self.counts.malformed += 1
            elif key[0] == 0 and key[1] <= 1 and value is not None:
                keys.append(key)
                values.append(value)
                orders.append(order)
            else:
                self._other(key, value, order)
        self._commits(keys, values, orders, now)
        for withdrawn, order in self._withdrawn:  # a commit that was made later stays
            self._store.withdrawn(withdrawn.group, withdrawn.topic, withdrawn.partition, order)
        self._withdrawn.clear()

    def settle(self) -> None:
        """Groups that are gone are forgotten now, and not when that is read: one that becomes a group of another kind is
        deleted and made in one breath, and keeps its commits."""
        for name, order in self._doomed.items():
            if name not in self.members.groups and not self._committed_after(name, order):
                self._store.delete_group(name)
        self._doomed.clear()

    def _committed_after(self, name: str, order: int) -> bool:
        group = self._store.groups.get(name)
        newest = self._store.windows.orders[:, -1]
        return group is not None and any((newest[rows] > order).any() for rows in group.topics.values())

    def _commits(self, keys: list[bytes], values: list[bytes], orders: list[int], now: int) -> None:
        if not keys:
            return
        commits = decode_values(values)
        self.counts.malformed += int(np.count_nonzero(~commits.good))
        old = self._store.too_old(commits.timestamp, now)
        self.counts.dropped["old"] += int(np.count_nonzero(commits.good & old))
        usable = commits.good & ~old
        known = self._rows
        rows = np.fromiter((known.get(key, NONE) for key in keys), np.int32, len(keys))
        for at in np.nonzero((rows == NONE) & usable)[0].tolist():
            rows[at] = known[keys[at]] if keys[at] in known else self._resolve(keys[at])
        which = np.nonzero(usable & (rows != NONE))[0]
        self.counts.commits += len(which)
        self._store.commits(
            rows[which],
            commits.offset[which],
            np.array(orders, np.int64)[which],
            commits.timestamp[which],
            now,
            commits.topic_print[which],
        )

    def _resolve(self, data: bytes) -> int:
        named, partition = self._names.get(data[:-PARTITION]), int.from_bytes(data[-PARTITION:], "big", signed=True)
        if named is None or partition < 0:
            try:
                key = decode_key(data)
            except Malformed:
                self.counts.malformed += 1
                return NONE
            if not isinstance(key, CommitKey):
                return NONE
            if key.group not in self._store.names:
                self.counts.dropped["group not wanted"] += 1
                return NONE
            named, partition = (key.group, key.topic), key.partition
        row = self._store.resolve(*named, partition)
        if row == NONE:
            self.counts.dropped["end of the log not known"] += 1
        else:
            self._remember(data, named, row)
        return row

    def _remember(self, data: bytes, named: tuple[str, str], row: int) -> None:
        """Keys of one group and topic differ in their end alone, and are many: what stands before is read once."""
        self._rows[data] = row
        begin = data[:-PARTITION]
        if begin not in self._names and len(begin) == 6 + sum(len(name.encode()) for name in named):  # and no more
            self._names[begin] = named

    def _other(self, data: bytes, value: bytes | None, order: int) -> None:
        try:
            key = decode_key(data)
            if isinstance(key, GroupKey):
                self.counts.groups += 1
                if key.group in self._store.names and self.members.take(key, value):
                    self._doomed[key.group] = order
            else:
                self.counts.tombstones += 1
                self._withdrawn.append((key, order))
        except Malformed:
            self.counts.malformed += 1


def partition_of(group: str, partitions: int) -> int:
    """Where Kafka keeps what a group commits: by Java's hash of its name, which counts UTF-16 units."""
    number = 0
    for unit in np.frombuffer(group.encode("utf-16-be", "surrogatepass"), ">u2").tolist():
        number = (31 * number + unit) & 0xFFFFFFFF
    signed = number - (1 << 32) if number & 0x80000000 else number
    return (signed & 0x7FFFFFFF) % partitions
