"""When does a consumer's record count? When its commit covers it.

Until then it waits here, as a few numbers; so what is read again after a restart or a rebalance is counted once. What was
revoked may still be committed by the one who lost it (librdkafka commits after the callback), so it goes only when the
partition is assigned anew, or lost.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from interceptors.audit.identity import I64
from interceptors.audit.report import Stretch
from interceptors.audit.table import Columns, Names, joined

MOST_WAITING = 1_000_000  # records of one client: 40 MB
_NEVER = np.iinfo(np.int64).max


class Placed(Protocol):
    """Records by columns, of which this much is known."""

    @property
    def where(self) -> I64: ...
    def __len__(self) -> int: ...
    def __getitem__(self, part: Any) -> Self: ...


Them = TypeVar("Them", bound=Placed)


def by_place(them: Them) -> Iterator[tuple[int, Them]]:
    """Parted by partition, each in its order."""
    if not len(them):
        return
    order = np.argsort(them.where, kind="stable")
    found, starts = np.unique(them.where[order], return_index=True)
    ends = [*starts[1:].tolist(), len(them)]
    for where, begin, end in zip(found.tolist(), starts.tolist(), ends, strict=True):
        yield where, them[order[begin:end]]


class Counting:
    """Of one client. Belongs to one thread at a time. Partitions go by their numbers in `names`."""

    def __init__(self, names: Names, most: int = MOST_WAITING) -> None:
        self._names, self._most = names, most
        self._waiting: list[Columns] = []
        self._size = 0
        self._read_to: dict[int, int] = {}  # the last offset that waits or waited
        self._counted_to: dict[int, int] = {}  # everything below is accounted for, as far back as this client had it
        self._stretches: dict[int, list[tuple[int, int]]] = {}
        self.dropped = 0  # records that waited for so long that there was no room for them

    def goes_back(self, them: Columns) -> bool:
        """Whether something in it was read before: then what came in between matters, and each part has to come alone."""
        order = np.argsort(them.where, kind="stable")
        where, offsets = them.where[order], them.offsets[order]
        same = where[1:] == where[:-1]
        if bool(np.any(same & (offsets[1:] <= offsets[:-1]))):
            return True
        starts = np.flatnonzero(np.concatenate(([True], ~same)))
        firsts = zip(where[starts].tolist(), offsets[starts].tolist(), strict=True)
        return any(first <= self._read_to.get(place, -1) for place, first in firsts)

    def read(self, them: Columns) -> None:
        """Of each partition in rising order. What waits at or behind the first of them is read again, and forgotten."""
        for place, own in by_place(them):
            if int(own.offsets[0]) <= self._read_to.get(place, -1):
                self._keep_below(place, int(own.offsets[0]))
            self._read_to[place] = int(own.offsets[-1])
        self._waiting.append(them)
        self._size += len(them)
        if self._size > self._most:
            self._make_room()

    def committed(self, offsets: Mapping[int, int]) -> Columns | None:
        """What counts now."""
        firsts: dict[int, int] = {}
        counted = None
        if self._waiting:
            them = joined(self._waiting)
            places, number = np.unique(them.where, return_inverse=True)
            now = them.offsets < np.array([offsets.get(place, -1) for place in places.tolist()])[number]
            counted, rest = them[now], them[~now]
            self._waiting, self._size = [rest] if len(rest) else [], len(rest)
            lowest = np.full(len(places), _NEVER)
            np.minimum.at(lowest, number[now], counted.offsets)
            pairs = zip(places.tolist(), lowest.tolist(), strict=True)
            firsts = {place: first for place, first in pairs if first != _NEVER}
        for place, offset in offsets.items():
            self._account(place, firsts.get(place), offset)
        return counted

    def read_to_the_end(self) -> Columns | None:
        """As if everything that was read had been committed."""
        return self.committed({place: last + 1 for place, last in self._read_to.items()})

    def has_read(self, topic: str, partition: int, offset: int) -> bool:
        """Whether a record below this offset waits."""
        place = self._names.place(topic, partition)
        return any(bool(np.any((some.where == place) & (some.offsets < offset))) for some in self._waiting)

    def forget(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Somebody else reads them, or we do, from where a commit says."""
        gone = np.array([self._names.place(*where) for where in partitions], np.int64)
        if not len(gone):
            return
        self._keep(lambda waiting: ~np.isin(waiting.where, gone))
        for place in gone.tolist():
            self._read_to.pop(place, None)
            self._counted_to.pop(place, None)

    def forget_all(self) -> None:
        self.dropped += self._size
        self._waiting, self._size, self._read_to, self._counted_to = [], 0, {}, {}

    def stretches(self, *, take: bool = True) -> tuple[Stretch, ...]:
        """Accounted for since they were last taken."""
        found = tuple(
            Stretch(*self._names.partition(place), *one) for place, them in self._stretches.items() for one in them
        )
        if take:
            self._stretches = {}
        return found

    def _account(self, place: int, first: int | None, offset: int) -> None:
        before = self._counted_to.get(place)
        begin = first if before is None or (first is not None and first < before) else before
        if begin is None or begin >= offset:
            return
        self._counted_to[place] = offset
        known = self._stretches.setdefault(place, [])
        if known and known[-1][1] == begin:
            known[-1] = (known[-1][0], offset)
        else:
            known.append((begin, offset))

    def _keep_below(self, place: int, offset: int) -> None:
        self._keep(lambda waiting: (waiting.where != place) | (waiting.offsets < offset))

    def _keep(self, which: Callable[[Columns], Any]) -> None:
        kept = [some[which(some)] for some in self._waiting]
        self._waiting = [some for some in kept if len(some)]
        self._size = sum(map(len, self._waiting))

    def _make_room(self) -> None:
        """Whoever has most waiting loses it: what is not accounted for is uncertain, and never called missing."""
        while self._size > self._most:
            places, counts = np.unique(joined(self._waiting).where, return_counts=True)
            most = int(np.argmax(counts))
            self.dropped += int(counts[most])
            self.forget([self._names.partition(int(places[most]))])
