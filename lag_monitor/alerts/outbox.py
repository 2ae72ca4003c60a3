"""What is open and what is on its way, together, in memory and on disk: a kill -9 at any moment loses nothing of it.

Incidents and the notices they gave rise to are saved in one transaction, before anything is sent; a row is marked as tried
before it is sent, and removed when the receiver has it. Between "the receiver has it" and "we noted that" lies a moment no
outbox can close: a kill -9 in it makes the notice arrive twice. Each therefore carries a key (incident/number) that is the
same both times. It never makes one arrive not at all.

A disk that is full, or may only be read, stops nobody: memory holds the truth, bounded, and the disk is brought up to it as
soon as it takes something again. Until then a crash would lose what it missed, and `storing` says so.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernel.errors import SuiteError, UsageError
from lag_monitor.alerts import records
from lag_monitor.alerts.incidents import Incident
from lag_monitor.alerts.notices import Notice
from lag_monitor.alerts.queue import Done, Patience, Queue, Row
from lag_monitor.alerts.store import Book, Store

log = logging.getLogger(__name__)
BEYOND = 1 << 40  # what is numbered while the file cannot be read comes after all that it may hold


class Outbox:
    def __init__(
        self,
        path: Path | None,
        *,
        most: int = 10_000,
        patience: Patience | None = None,
        open_store: Callable[[Path], Store] = Store,
    ) -> None:
        """Without a path, in memory only."""
        self._lock = threading.RLock()
        self._queue = Queue(most, patience or Patience())
        self._incidents: dict[str, Incident] = {}
        self._store = open_store(path) if path else None
        self._loaded = False  # what the file holds is part of what we know
        self._trouble = ""
        self.store_failures = 0
        self.changed: Callable[[], None] = lambda: None  # called after each change
        if self._store:
            try:
                self._load(self._store)
            except UsageError:
                raise
            except SuiteError as trouble:
                self._tell(trouble.message)
                self._queue.last = BEYOND

    # ---- for whoever decides ----------------------------------------------------------------------------------

    @property
    def incidents(self) -> tuple[Incident, ...]:
        with self._lock:
            return tuple(self._incidents.values())

    def save(self, incidents: Sequence[Incident], notices: Iterable[Notice], now: float) -> None:
        with self._changing():
            self._incidents = {one.id: one for one in incidents}
            self._queue.add(notices, now)
            self._queue.forget(self._incidents)
            self._load_late()

    def keep_only(self, channels: Collection[str]) -> None:
        with self._changing():
            gone = self._queue.keep_only(channels)
        for name in sorted({row.channel for row in gone}):
            log.warning("there is no channel %s any more: notices that waited for it are dropped", name)

    def export(self) -> dict[str, Any]:
        with self._lock:
            return {
                "incidents": [records.plain(one) for one in self._incidents.values()],
                "queue": [
                    {"channel": row.channel, "queued_at": row.queued_at, "tries": row.tries}
                    | {"notice": records.plain(row.notice)}
                    for row in self._queue.rows.values()
                ],
                "done": [[*chain, done.seq, done.at] for chain, done in self._queue.done.items()],
            }

    @property
    def mark(self) -> int:
        """What is queued up to now."""
        with self._lock:
            return self._queue.last

    def release(self, mark: int) -> bool:
        """What was queued up to then may be sent, and, once this was called, nothing else. Whether that is more."""
        with self._lock:
            before, self._queue.released = self._queue.released, mark
            return before is None or mark > before

    def replace(self, told: dict[str, Any]) -> None:
        """By what another instance exported. What we know to have arrived is not sent again."""
        try:
            incidents = [records.incident(one) for one in told.get("incidents", ())]
            done = {(str(i), str(c)): Done(int(seq), float(at)) for i, c, seq, at in told.get("done", ())}
            rows = [
                Row(0, str(one["channel"]), records.notice(one["notice"]), float(one["queued_at"]), int(one["tries"]))
                for one in told.get("queue", ())
            ]
        except (KeyError, TypeError, ValueError, AttributeError) as trouble:
            raise UsageError(f"this is not what another instance exports: {type(trouble).__name__}: {trouble}.") from None
        with self._changing():
            self._incidents = {one.id: one for one in incidents}
            self._queue.rows.clear()
            self._loaded = True  # whatever the file holds, this is in its place
            for chain, theirs in done.items():
                ours = self._queue.done.get(chain)
                self._queue.done[chain] = theirs if ours is None or theirs.seq > ours.seq else ours
            self._queue.take_over(rows)
            self._queue.forget(self._incidents)

    # ---- for whoever sends ------------------------------------------------------------------------------------

    def claim(self, channel: str, now: float) -> Row | None:
        with self._lock:
            if not self._queue.queued(channel):
                return None
            with self._changing():
                return self._queue.claim(channel, now)

    def next_due(self, channel: str, now: float) -> float | None:
        with self._lock:
            return self._queue.next_due(channel, now)

    def delivered(self, row: Row, now: float) -> None:
        with self._changing():
            self._queue.delivered(row, now)

    def failed(self, row: Row, now: float, retry_after: float | None = None) -> float:
        with self._changing():
            return self._queue.failed(row, now, retry_after)

    def give_up(self, row: Row, now: float) -> None:
        with self._changing():
            self._queue.give_up(row, now)

    def rest(self, failures: int) -> float:
        """Seconds for which a receiver that failed so many times in a row is left alone."""
        return self._queue.patience.wait(failures, self._queue.chance)

    def wake(self, channel: str) -> None:
        with self._changing():
            self._queue.wake(channel)

    def close(self) -> None:
        with self._lock:
            if self._store:
                self._store.close()
            self._store = None

    # ---- for whoever asks -------------------------------------------------------------------------------------

    @property
    def storing(self) -> bool:
        """Whether the disk knows all that memory knows; also true if no file was asked for."""
        return not self._trouble

    def count(self, channel: str, result: str) -> int:
        with self._lock:
            return self._queue.counts[channel, result]

    def queued(self, channel: str) -> int:
        with self._lock:
            return self._queue.queued(channel)

    def oldest(self, channel: str) -> float | None:
        """Since when the oldest of its notices waits."""
        with self._lock:
            return next((row.queued_at for row in self._queue.rows.values() if row.channel == channel), None)

    # ---- memory and disk --------------------------------------------------------------------------------------

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock:
            yield
            self._write()
        self.changed()

    def _write(self) -> None:
        if self._store is None:
            return
        try:
            if not self._loaded:  # what the file holds would be lost: it is for `save` to bring it in
                return
            if not self._store.is_open:
                self._store.open()
            self._store.write(Book(dict(self._incidents), dict(self._queue.rows), dict(self._queue.done)))
        except SuiteError as trouble:
            self.store_failures += 1
            self._tell(trouble.message)
        else:
            self._tell("")

    def _load_late(self) -> None:
        """The disk did not let us at the start, and may now. Only when a decision was saved: one that is being made knows
        nothing of the incidents in the file, and would take them away again."""
        if self._store is not None and not self._loaded:
            try:
                self._load(self._store)
            except SuiteError as trouble:
                self.store_failures += 1
                self._tell(trouble.message)

    def _load(self, store: Store) -> None:
        """Before what memory gathered since the start."""
        book = store.open()
        self._queue.last = max(self._queue.last, *book.rows, 0)
        self._queue.rows = dict(book.rows) | self._queue.rows
        self._queue.done = dict(book.done) | self._queue.done
        self._incidents = dict(book.incidents) | self._incidents
        self._loaded = True

    def _tell(self, trouble: str) -> None:
        """What goes on and on is told once."""
        if trouble and not self._trouble:
            log.error("%s Alerts go on, but what is on its way is kept in memory only.", trouble)
        if not trouble and self._trouble:
            log.info("the outbox is on disk again")
        self._trouble = trouble
