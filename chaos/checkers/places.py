"""Where in the log a value was seen: (topic, partition, offset) as one number that rises with the offset.

Offsets of a partition are mostly without holes, so the number is the partition's base plus the offset, and a table over
all places answers at once. Where they lie far apart it is the rank of the place among all that were seen.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from chaos.evidence.columns import Ints, blocks, distinct
from chaos.evidence.history import OK, History, Rows

WASTE = 4
SLACK = 1 << 20
FAR = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Places:
    """`code` of any place is that of the first seat at or beyond it in its partition: so codes bound ranges, too."""

    size: int
    first: Ints  # by partition: least offset with a seat
    room: Ints  # by partition: how many codes
    base: Ints
    offsets: Ints | None = None  # every offset with a seat, sorted, if places are ranked
    ranked: Ints | None = None  # every place, sorted

    def code(self, partition: Ints, offset: Ints) -> Ints:
        if self.ranked is not None and self.offsets is not None:
            packed = partition.astype(np.int64) * (self.offsets.size + 1) + np.searchsorted(self.offsets, offset)
            return np.searchsorted(self.ranked, packed)
        code: Ints = self.base[partition] + np.clip(offset - self.first[partition], 0, self.room[partition])
        return code

    def seat(self, partition: Ints, offset: Ints) -> Ints:
        """The same for a place that has a seat, and quicker."""
        if self.ranked is not None:
            return self.code(partition, offset)
        seat: Ints = (self.base - self.first)[partition] + offset
        return seat


def seat_rows(history: History) -> Iterator[tuple[Rows, Ints | slice]]:
    """Blocks of rows that say where a value is: reads, and sends that were acknowledged with an offset."""
    for block in blocks(len(history.reads)):
        yield history.reads, block
    sends = history.sends
    for block in blocks(len(sends)):
        told = (sends.outcome[block] == OK) & (sends.offset[block] >= 0) & (sends.partition[block] >= 0)
        yield sends, block if told.all() else np.flatnonzero(told) + block.start


def places(history: History) -> Places:
    partitions = len(history.partitions)
    first, last = np.full(partitions, FAR), np.full(partitions, -1, dtype=np.int64)
    seats = 0
    for rows, block in seat_rows(history):
        np.minimum.at(first, rows.partition[block], rows.offset[block].astype(np.int64))
        np.maximum.at(last, rows.partition[block], rows.offset[block].astype(np.int64))
        seats += rows.partition[block].size
    first[last < 0] = 0
    room = last - first + 1
    if float(room.sum(dtype=np.float64)) > WASTE * seats + SLACK:
        return _ranked(history, first, room)
    return Places(int(room.sum()), first, room, np.cumsum(room) - room)


def _ranked(history: History, first: Ints, room: Ints) -> Places:
    offsets = _distinct(rows.offset[block].astype(np.int64) for rows, block in seat_rows(history))
    ranked = _distinct(
        rows.partition[block].astype(np.int64) * (offsets.size + 1) + np.searchsorted(offsets, rows.offset[block])
        for rows, block in seat_rows(history)
    )
    return Places(int(ranked.size), first, room, first, offsets, ranked)


def _distinct(chunks: Iterator[Ints]) -> Ints:
    return distinct(np.concatenate([distinct(chunk) for chunk in chunks]))
