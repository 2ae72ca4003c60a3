"""From counts to reports: cut every few seconds, on disk if there is a spool, sent one at a time, forgotten when arrived.

While a report does not arrive, the next one is not cut: what is counted meanwhile adds to the sketches, so an outage costs
no more memory than it has buckets.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from interceptors.audit.contents import Contents
from interceptors.audit.report import Report, encode, parts
from interceptors.audit.sending import Sender
from interceptors.audit.settings import Settings
from interceptors.audit.spool import Spool

LOG = logging.getLogger("interceptors.audit")
PATIENCE = 15.0  # seconds that one report may be on its way before it is sent again


class Source(Protocol):
    def contents(self, *, take: bool) -> Contents: ...


class Publisher(threading.Thread):
    def __init__(
        self, settings: Settings, life: str, source: Source, sender: Sender, spool: Spool | None, now_ms: Callable[[], int]
    ) -> None:
        super().__init__(name=f"audit-{settings.tier}", daemon=True)
        self._settings, self._life, self._source, self._now_ms = settings, life, source, now_ms
        self._sender, self._spool = sender, spool
        self._next_seq = 0
        self._unsent: list[tuple[Report, bytes]] = []
        self._ending = threading.Event()
        self._deadline = float("inf")
        self.looks = 0  # into the spool, to the end
        self._saved = float("-inf")

    # ---- the thread ---------------------------------------------------------------------------------------------------

    def run(self) -> None:
        self._cut()  # empty: from now on it is known that this life counts
        self._deliver()
        self._send_what_others_left()
        due = time.monotonic() + self._settings.every_ms / 1000
        while not self._ending.is_set():
            if time.monotonic() >= due:
                due = time.monotonic() + self._settings.every_ms / 1000
                self._publish()
                self._send_what_others_left()
            else:
                self._save()
            tick = self._settings.save_ms if self._spool is not None else 1000
            self._ending.wait(min(max(due - time.monotonic(), 0), tick / 1000))
        self._finish()

    def _publish(self) -> None:
        """First what is left of the last time; only if that has arrived, what was counted since."""
        if self._deliver():
            self._cut()
            self._deliver()

    def _cut(self, *, closed: bool = False) -> None:
        whole = self._report(take=True, closed=closed)
        self._unsent = parts(whole)
        self._next_seq += len(self._unsent)
        for report, message in self._unsent:
            self._on_disk(report.seq, message)

    def _save(self) -> None:
        """The report in the making, if it is time; the file has the number of the one that it will be."""
        now = time.monotonic()
        if self._spool is None or now < self._saved + self._settings.save_ms / 1000:
            return
        self._saved = now
        report = self._report(take=False)
        if report.rows or report.unsure:
            self._on_disk(report.seq, encode(report))

    def _report(self, *, take: bool, closed: bool = False) -> Report:
        s = self._settings
        contents = self._source.contents(take=take)
        return Report(
            tier=s.tier,
            role=s.role,
            life=self._life,
            seq=self._next_seq,
            begins=self._next_seq,
            at_ms=self._now_ms(),
            every_ms=s.every_ms,
            bucket_ms=s.bucket_ms,
            client=s.client,
            host=socket.gethostname(),
            identity=s.identity,
            count_at=s.count,
            closed=closed,
            rows=contents.rows,
            stretches=contents.stretches,
            unsure=contents.unsure,
            unaudited=contents.unaudited,
        )

    def _on_disk(self, seq: int, message: bytes) -> None:
        if self._spool is not None:
            try:
                self._spool.save(seq, message)
            except OSError as trouble:
                LOG.warning("the audit's spool cannot be written to: %s", trouble)

    def _deliver(self) -> bool:
        while self._unsent:
            report, message = self._unsent[0]
            if not self._sender.sent(report.key, message, self._patience, self._save):
                return False
            self._unsent.pop(0)
            if self._spool is not None:
                self._spool.forget(report.life, report.seq)
        return True

    def _patience(self, began: float) -> float:
        """Seconds more for what was begun then; asked again and again, for the end may come nearer."""
        return min(began + PATIENCE, self._deadline) - time.monotonic()

    def _send_what_others_left(self) -> None:
        """With every report: one that was still ending when we began is over by then."""
        if self._spool is None or self._unsent:
            return
        lives = set()
        for report, _ in self._spool.left():
            left = replace(report, left=True)
            if self._ending.is_set() or not self._sender.sent(left.key, encode(left), self._patience, self._save):
                return
            self._spool.forget(left.life, left.seq)
            lives.add(left.life)
        for life in lives:
            self._spool.over(life)
        self.looks += 1

    # ---- the end ------------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        arrived = self._deliver()
        if arrived or self._spool is not None:
            first = self._unsent
            self._cut(closed=True)
            self._unsent = first + self._unsent
            arrived = self._deliver()
        if not arrived:
            self._say_what_is_left()
        if self._spool is not None:
            self._spool.close()

    def _say_what_is_left(self) -> None:
        rest = self._source.contents(take=False).records
        records = rest + sum(report.records for report, _ in self._unsent)
        if records:
            kept = (
                "they are in the spool, for the next one to send"
                if self._spool is not None
                else "the auditor will be uncertain"
            )
            LOG.warning(
                "tier %s ends with reports of %d records that did not arrive in time: %s.",
                self._settings.tier,
                records,
                kept,
            )

    def end(self, within: float) -> None:
        self._deadline = time.monotonic() + within
        self._ending.set()
        self.join(within + 1.0)

    def abandon(self) -> None:
        """In the child of a fork, where this thread does not run."""
        if self._spool is not None:
            self._spool.abandon()
