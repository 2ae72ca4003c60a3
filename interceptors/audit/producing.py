"""The producer's side: what was acknowledged counts; in a transaction, once it is committed.

A record that failed may stand in the log all the same (it timed out, its answer was lost): those are told as doubts, so that
nobody is alarmed by a record that appears without having been counted.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from interceptors.audit.acknowledged import Acknowledged, acknowledged
from interceptors.audit.clocks import Clocks
from interceptors.audit.contents import Contents, Doubts
from interceptors.audit.counting import MOST_WAITING, by_place
from interceptors.audit.identity import I64, NotBytes
from interceptors.audit.report import Stretch
from interceptors.audit.settings import Settings
from interceptors.audit.table import MOST_ROWS, Columns, Names, Table
from interceptors.contract import Event, Happening
from interceptors.outcomes import outcome_of_send
from interceptors.record import Refused
from kernel.ledger import Outcome

LOG = logging.getLogger("interceptors.audit")


class Producing:
    def __init__(self, settings: Settings, now_ms: Callable[[], int]) -> None:
        self._settings, self._now_ms = settings, now_ms
        self._lock = threading.Lock()
        self._names = Names()
        self._table = Table(self._names, settings.bucket_ms, settings.cells, content=settings.content)
        self._clocks = Clocks(now_ms)
        self._held: list[Columns] = []  # of the open transaction
        self._ends: dict[tuple[str, int], int] = {}
        self._doubts = Doubts(settings.bucket_ms)
        self._unaudited = 0
        self._told = False
        # Acknowledged, not yet looked at: a report, when its record was made (ms), the next report, and so on. Appended to
        # from any thread, always both at once.
        self.batch: list[Any] = []

    def absorb(self) -> None:
        with self._lock:
            self._absorb()

    def _absorb(self) -> None:
        count = len(self.batch)
        if not count:
            return
        some = self.batch[:count]
        del self.batch[:count]  # what came in between stands behind
        try:
            found = acknowledged(some[::2], some[1::2], self._names)
        except NotBytes as odd:
            self._not_audited(count // 2, f"its delivery reports carry objects of type {odd.kind.__name__}")
            return
        placed = found.offsets >= 0
        if not placed.all():
            unplaced = found[~placed]
            self._not_audited(len(unplaced), "the broker does not tell it offsets (acks=0?)")
            self._doubt(unplaced)
            found = found[placed]
        self._count(self._clocks.stamped(found))
        if len(self._clocks) > MOST_WAITING:
            self._give_up()

    def failed(self, report: Any, error: Any) -> None:
        partition = report.partition()
        unwritten = isinstance(report, Refused) or outcome_of_send(str(error.name())) is Outcome.FAIL
        if unwritten or partition is None or partition < 0:
            return
        now = self._now_ms()
        kind, stamp = report.timestamp()
        with self._lock:
            self._doubts.add(report.topic(), partition, stamp if kind else now, now)

    def happened(self, event: Event) -> None:
        if event.what not in (Happening.BEGIN, Happening.COMMIT, Happening.ABORT):
            return
        with self._lock:
            if event.what is Happening.BEGIN and event.error is None:
                self._doubt_held()  # of a transaction whose end nobody could tell
                self._give_up()
                self._absorb()
            elif event.error is None:
                self._absorb()
                self._count(self._clocks.ended())
                held, self._held = self._held, []
                if event.what is Happening.COMMIT:
                    for some in held:
                        self._add(some)
                    self._give_up()
                else:
                    self._clocks.given_up()

    def contents(self, *, take: bool) -> Contents:
        with self._lock:
            self._absorb()
            self._see_to_the_undecided()
            rows = self._table.taken() if take else self._table.sketches()
            ends = dict(self._ends)
            firsts: dict[tuple[str, int], int] = {}
            for (topic, partition, _), sketch in rows.items():
                firsts[topic, partition] = min(sketch.first, firsts.get((topic, partition), sketch.first))
                ends[topic, partition] = max(sketch.last + 1, ends.get((topic, partition), 0))
            stretches = tuple(Stretch(*where, self._ends.get(where, first), ends[where]) for where, first in firsts.items())
            found = Contents(rows, stretches, self._doubts.told(), self._unaudited)
            if take:
                self._ends, self._unaudited = ends, 0
                self._doubts.clear()
            return found

    def over(self) -> None:
        """The client is closed: an open transaction's records are in doubt."""
        with self._lock:
            self._absorb()
            self._count(self._clocks.ended())
            self._give_up()
            self._doubt_held()

    def _count(self, them: list[Acknowledged]) -> None:
        for some in them:
            found = some.columns(content=self._settings.content)
            if self._settings.transactional:
                self._hold(found)
            else:
                self._add(found)

    def _see_to_the_undecided(self) -> None:
        """Before a report: records with timestamps that are not known are told as doubts, and still count if that changes.
        Of an open transaction nothing is told."""
        if self._clocks and not self._settings.transactional:
            self._count(self._clocks.settled())
            for some in self._clocks.untold():
                self._doubt_undecided(some)

    def _give_up(self) -> None:
        for some, told in self._clocks.given_up():
            self._unaudited += len(some)
            if not told:
                self._doubt_undecided(some)

    def _add(self, found: Columns) -> None:
        if len(self._table) < MOST_ROWS:
            self._table.add(found)
        else:
            self._unaudited += len(found)
            self._doubt(found)

    def _hold(self, found: Columns) -> None:
        self._held.append(found)
        if sum(map(len, self._held)) > MOST_WAITING:
            self._doubt_held()

    def _doubt_held(self) -> None:
        held, self._held = self._held, []
        for some in held:
            self._doubt(some)

    def _doubt(self, them: Columns | Acknowledged) -> None:
        for place, own in by_place(them):
            self._doubt_of(place, own.timestamps, len(own))

    def _doubt_undecided(self, them: Acknowledged) -> None:
        for place, own in by_place(them):
            self._doubt_of(place, np.concatenate((own.timestamps, own.created[own.created > 0])), len(own))

    def _doubt_of(self, place: int, timestamps: I64, count: int) -> None:
        latest = max(int(timestamps.max()), self._now_ms())
        self._doubts.add(*self._names.partition(place), int(timestamps.min()), latest, count)

    def _not_audited(self, count: int, why: str) -> None:
        self._unaudited += count
        if not self._told:
            self._told = True
            LOG.warning("tier %s cannot audit records of client %r: %s.", self._settings.tier, self._settings.client, why)
