"""The consumer's side: what was handed over waits until a commit covers it, and counts then.

With `interceptor.audit.count = "read"` it counts at once, for consumers that keep their offsets elsewhere. A client whose
records come as objects cannot be audited, for what they were on the wire is gone; it says so once, and counts them.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from interceptors.audit.contents import Contents
from interceptors.audit.counting import Counting
from interceptors.audit.identity import I64, NotBytes
from interceptors.audit.settings import Settings
from interceptors.audit.table import F64, MOST_ROWS, Columns, Names, Table, columns
from interceptors.contract import Event, Happening

LOG = logging.getLogger("interceptors.audit")
Offsets = Sequence[tuple[str, int, int]]  # topic, partition, offset


class Consuming:
    def __init__(self, settings: Settings, now_ms: Callable[[], int]) -> None:
        self._settings, self._now_ms = settings, now_ms
        self._lock = threading.Lock()
        self._names = Names()
        self._table = Table(self._names, settings.bucket_ms, settings.cells, content=settings.content)
        self._counting = Counting(self._names)
        self._unaudited = 0
        self._deaf = settings.deserialised
        self._told = False
        # Not yet looked at: records, when they were handed over (ns), and commits, each with how many records came before.
        # The first two are appended to from any thread, and a thread between the two is waited for.
        self.batch: list[Any] = []
        self.times: list[int] = []
        self._commits: list[tuple[int, Offsets]] = []

    def committed(self, offsets: Iterable[Any]) -> None:
        told = [(one.topic, one.partition, one.offset) for one in offsets if one.offset >= 0]
        if told and self._settings.count == "commit":
            with self._lock:
                self._commits.append((len(self.batch), told))

    def absorb(self) -> None:
        with self._lock:
            self._absorb()

    def happened(self, event: Event) -> None:
        if event.what not in (Happening.ASSIGN, Happening.REVOKE, Happening.LOST):
            return
        with self._lock:
            self._absorb()
            if event.what is not Happening.REVOKE:
                self._counting.forget((one.topic, one.partition) for one in event.partitions)

    def has_read(self, topic: str, partition: int, offset: int) -> bool:
        with self._lock:
            self._absorb()
            return self._counting.has_read(topic, partition, offset)

    def contents(self, *, take: bool) -> Contents:
        with self._lock:
            self._absorb()
            rows = self._table.taken() if take else self._table.sketches()
            found = Contents(rows, self._counting.stretches(take=take), (), self._unaudited + self._counting.dropped)
            if take:
                self._unaudited = self._counting.dropped = 0
            return found

    def over(self) -> None:
        """What was read and not committed is read again by somebody else."""
        self.absorb()

    # ---- the batch ----------------------------------------------------------------------------------------------------

    def _absorb(self) -> None:
        count = min(len(self.batch), len(self.times))
        commits, self._commits = self._commits, []
        records, times = self.batch[:count], self.times[:count]
        del self.batch[:count], self.times[:count]  # what came in between stands behind
        if not (records or commits):
            return
        try:
            self._take(records, times, commits)
        except NotBytes as odd:
            self._cannot(len(records), odd.kind.__name__)

    def _take(self, records: list[Any], times: list[int], commits: list[tuple[int, Offsets]]) -> None:
        """All reading first and all commits after, which is the same unless somebody went back to read again."""
        if self._deaf:
            raise NotBytes(object)
        found = self._columns(records, times) if records else None
        if found is not None and self._counting.goes_back(found):
            self._in_order(found, commits)
            return
        if found is not None:
            self._counting.read(found)
        for offsets in (
            [told for _, told in commits] if _falling(commits) else [[one for _, told in commits for one in told]]
        ):
            self._commit(offsets)

    def _in_order(self, found: Columns, commits: list[tuple[int, Offsets]]) -> None:
        before = dict[int, list[Offsets]]()
        for place, offsets in commits:
            before.setdefault(min(place, len(found)), []).append(offsets)
        for number in range(len(found) + 1):
            for offsets in before.get(number, []):
                self._commit(offsets)
            if number < len(found):
                self._counting.read(found[number : number + 1])
                self._commit([])

    def _columns(self, records: list[Any], times: list[int]) -> Columns:
        when = np.fromiter(times, np.int64, len(times)) // 1_000_000
        return columns(records, self._names, content=self._settings.content, latencies=lambda stamps: _since(stamps, when))

    def _commit(self, offsets: Offsets) -> None:
        """Unless nothing could be reported for so long that there is no room. What nobody accounts for is uncertain."""
        if len(self._table) >= MOST_ROWS:
            self._counting.forget_all()
        elif self._settings.count == "read":
            self._add(self._counting.read_to_the_end())
        elif offsets:
            places = {self._names.place(topic, partition): offset for topic, partition, offset in offsets}
            self._add(self._counting.committed(places))

    def _add(self, counted: Columns | None) -> None:
        if counted is not None:
            self._table.add(counted)

    def _cannot(self, records: int, kind: str) -> None:
        self._unaudited += records
        if self._told:
            return
        self._deaf = self._told = True
        # What was counted so far is told; the rest is not, and nobody calls it missing, for nobody accounts for it.
        self._counting.forget_all()
        LOG.warning(
            "tier %s cannot audit client %r: its records come deserialised (%s), and their bytes are gone. "
            "Audit a plain Consumer, or deserialise after poll().",
            self._settings.tier, self._settings.client, kind,
        )  # fmt: skip


def _falling(commits: list[tuple[int, Offsets]]) -> bool:
    highest: dict[tuple[str, int], int] = {}
    for topic, partition, offset in (one for _, told in commits for one in told):
        if offset < highest.get((topic, partition), -1):
            return True
        highest[topic, partition] = offset
    return False


def _since(stamps: I64, when: I64) -> F64:
    since: F64 = np.maximum(when - stamps, 0).astype(np.float64)
    return since
