"""Records by the thousand into sketches: columns of numbers, added up in numpy, so that a record costs a fraction of a µs.

`columns` reads what a tier needs of its records, once; `Table` adds such columns up by topic, partition and bucket of the
records' own log timestamps, and gives them out as sketches when a report is due.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from interceptors.audit.cells import CHECK, FIELDS, HASHES, PLACE
from interceptors.audit.identity import I64, U64, identities, mixed
from interceptors.audit.latency import BINS, LOWEST, PER_OCTAVE
from interceptors.audit.sketch import NO_OFFSET, Sketch

F64 = npt.NDArray[np.float64]
Key = tuple[str, int, int]  # topic, partition, start of the bucket in ms
MOST_ROWS = 20_000  # about 35 MB
MANY = 1 << 20  # more partitions than a topic may have
_SPAN = 1 << 22  # buckets from the first to the last of a batch that fit into one number with the partition
_21, _42, _LOW = np.uint64(21), np.uint64(42), np.uint64(0x1FFFFF)
_PLACE, _CHECK = np.uint64(PLACE), np.uint64(CHECK)


class Names:
    """Topics by number, so that a partition of any topic is one number; the same for as long as a client lives."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._topics: list[str] = []

    def number(self, topic: str) -> int:
        if (known := self._numbers.get(topic)) is None:
            known = self._numbers[topic] = len(self._topics) * MANY
            self._topics.append(topic)
        return known

    def place(self, topic: str, partition: int) -> int:
        return self.number(topic) + partition

    def partition(self, place: int) -> tuple[str, int]:
        return self._topics[place // MANY], place % MANY


@dataclass(frozen=True, slots=True)
class Columns:
    """Some records, without their keys and values: about 40 bytes each."""

    where: I64  # a place by `Names`
    offsets: I64
    timestamps: I64  # ms
    identities: U64
    latencies: F64  # ms

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, part: Any) -> "Columns":
        return Columns(
            self.where[part], self.offsets[part], self.timestamps[part], self.identities[part], self.latencies[part]
        )


def joined(them: Sequence[Columns]) -> Columns:
    if len(them) == 1:
        return them[0]
    fields = ("where", "offsets", "timestamps", "identities", "latencies")
    return Columns(*(np.concatenate([getattr(some, field) for some in them]) for field in fields))


def columns(
    records: Sequence[Any], names: Names, *, content: bool, latencies: Callable[[I64], F64] | None = None
) -> Columns:
    """Of Messages as they are in the log. Latency is the report's own, unless it follows from the timestamp."""
    count = len(records)
    where, offsets = placed(records, names)
    timestamps = np.fromiter([record.timestamp()[1] for record in records], np.int64, count)
    found = identities(
        [record.key() for record in records],
        [record.value() for record in records],
        timestamps,
        None if content else offsets,
    )
    return Columns(where, offsets, timestamps, found, latencies(timestamps) if latencies else taken(records))


def taken(records: Sequence[Any]) -> F64:
    """How long each was on its way, as its delivery report says; ms."""
    return np.fromiter([record.latency() or 0.0 for record in records], np.float64, len(records)) * 1000


def placed(records: Sequence[Any], names: Names) -> tuple[I64, I64]:
    """Where they stand: partitions by `Names`, and offsets."""
    count = len(records)
    topics = [record.topic() for record in records]
    where = np.fromiter([record.partition() for record in records], np.int64, count)
    numbers = {topic: names.number(topic) for topic in set(topics)}
    if len(numbers) > 1:
        where += np.fromiter([numbers[topic] for topic in topics], np.int64, count)
    else:
        where += numbers[topics[0]]
    places = [record.offset() for record in records]
    if None in places:  # as Message says it of whatever the broker did not tell
        places = [NO_OFFSET if place is None else place for place in places]
    return where, np.fromiter(places, np.int64, count)


class Table:
    """Sketches in the making. Belongs to one thread at a time."""

    def __init__(self, names: Names, bucket_ms: int, cells: int, *, content: bool) -> None:
        self._names = names
        self._bucket_ms, self._cells, self._content = bucket_ms, cells, content
        self._rows: dict[Key, int] = {}
        self._grow(16)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, them: Columns) -> None:
        if not len(them):
            return
        keys, row_of = self._grouped(them)
        rows = np.array([self._row(key) for key in keys])
        each = rows[row_of] if len(rows) > 1 else np.full(len(them), rows[0])
        np.add.at(self._count, each, 1)
        np.add.at(self._sum, each, them.identities)
        np.minimum.at(self._first, each, them.offsets)
        np.maximum.at(self._last, each, them.offsets)
        self._add_xor(rows, row_of, them.identities)
        bins = np.clip(np.log2(np.maximum(them.latencies, 1e-9)) * PER_OCTAVE - LOWEST * PER_OCTAVE, 0, BINS - 1)
        np.add.at(self._bins.reshape(-1), each * BINS + bins.astype(np.int64), 1)
        if self._cells:
            self._add_cells(each, them)

    def taken(self) -> dict[Key, Sketch]:
        """All of it, and begin anew."""
        sketches = self.sketches()
        self._rows = {}
        self._grow(16)
        return sketches

    def sketches(self) -> dict[Key, Sketch]:
        return {key: self._sketch(row) for key, row in self._rows.items()}

    def _sketch(self, row: int) -> Sketch:
        bins = self._bins[row]
        return Sketch(
            int(self._count[row]),
            int(self._sum[row]),
            int(self._xor[row]),
            int(self._first[row]),
            int(self._last[row]),
            array("Q", self._table[row].tobytes()) if self._cells else None,
            {int(place): int(bins[place]) for place in np.flatnonzero(bins)},
        )

    def _grouped(self, them: Columns) -> tuple[list[Key], I64]:
        """The keys that occur, and for each record which of them is its own."""
        buckets = them.timestamps // self._bucket_ms
        least, most = int(buckets.min()), int(buckets.max())
        if least == most and them.where.min() == them.where.max():
            return [self._key(int(them.where[0]), least)], np.zeros(len(them), np.int64)
        if most - least < _SPAN:
            found, inverse = np.unique(them.where * _SPAN + (buckets - least), return_inverse=True)
            pairs = [(int(one) // _SPAN, int(one) % _SPAN + least) for one in found]
        else:
            both, inverse = np.unique(np.stack((them.where, buckets), axis=1), axis=0, return_inverse=True)
            pairs = [(int(where), int(bucket)) for where, bucket in both]
        return [self._key(*pair) for pair in pairs], inverse.reshape(-1)

    def _key(self, place: int, bucket: int) -> Key:
        return (*self._names.partition(place), bucket * self._bucket_ms)

    def _row(self, key: Key) -> int:
        if (row := self._rows.get(key)) is not None:
            return row
        row = self._rows[key] = len(self._rows)
        if row >= len(self._count):
            self._grow(2 * row, keep=row)
        return row

    def _grow(self, size: int, keep: int = 0) -> None:
        def grown(name: str, shape: tuple[int, ...], kind: Any, filled: int = 0) -> None:
            new = np.full((size, *shape), filled, kind)
            if keep:
                new[:keep] = getattr(self, name)[:keep]
            setattr(self, name, new)

        self._count: I64
        self._sum: U64
        self._xor: U64
        self._first: I64
        self._last: I64
        self._bins: I64
        self._table: U64
        grown("_count", (), np.int64)
        grown("_sum", (), np.uint64)
        grown("_xor", (), np.uint64)
        grown("_first", (), np.int64, np.iinfo(np.int64).max)
        grown("_last", (), np.int64, -1)
        grown("_bins", (BINS,), np.int64)
        grown("_table", (FIELDS, self._cells), np.uint64)

    def _add_xor(self, rows: npt.NDArray[np.int64], row_of: I64, found: U64) -> None:
        if len(rows) == 1:
            self._xor[rows[0]] ^= np.bitwise_xor.reduce(found)
            return
        order = np.argsort(row_of, kind="stable")
        starts = np.searchsorted(row_of[order], np.arange(len(rows)))
        self._xor[rows] ^= np.bitwise_xor.reduceat(found[order], starts)

    def _add_cells(self, each: I64, them: Columns) -> None:
        """As `cells.add`, of many at once."""
        size, third = self._cells, np.uint64(self._cells // HASHES)
        offsets = np.zeros(len(them), np.uint64) if self._content else them.offsets.view(np.uint64)
        seed = mixed(them.identities ^ (offsets * _PLACE))
        places = [(seed & _LOW) % third, ((seed >> _21) & _LOW) % third, ((seed >> _42) & _LOW) % third]
        base = each * (FIELDS * size)
        at = np.concatenate([base + (n * int(third)) + place.astype(np.int64) for n, place in enumerate(places)])
        flat = self._table.reshape(-1)
        ones = np.ones(len(at), np.uint64)
        for field, amount in enumerate(
            (ones, *(np.tile(x, HASHES) for x in (offsets, them.identities, mixed(seed ^ _CHECK))))
        ):
            np.add.at(flat, at + field * size, amount)
