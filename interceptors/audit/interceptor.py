"""Counts what a client sends or reads, and reports it to the audit topic. `interceptor.classes = interceptors.audit.Audit`.

The hooks only put records into a list; by the thousand they are added up in numpy, so that a record costs less than a µs.
"""

import os
import weakref
from collections.abc import Mapping
from time import time_ns
from typing import Any

from interceptors.audit import settings as told
from interceptors.contract import Event, Interceptor
from interceptors.loading import BadInterceptor
from interceptors.record import Report

MOST_RECORDS = 4096  # in a batch that is not yet looked at
MOST_BYTES = 4_000_000  # of their values


class Audit(Interceptor):
    def __init__(self) -> None:
        self._counts: Any = None  # a Producing or a Consuming
        self._batch: list[Any] = []
        self._times: list[int] = []
        self._bytes = 0
        self._publisher: Any = None
        self._hop: Any = None
        self._over = True

    def configure(self, config: Mapping[str, Any]) -> None:
        if self._counts is not None:
            raise BadInterceptor("an Audit belongs to one client: give its class, or one of its own to each client.")
        settings = told.read(config)
        try:
            from interceptors.audit.consuming import Consuming
            from interceptors.audit.hop import Hop, join
            from interceptors.audit.producing import Producing
            from interceptors.audit.publisher import Publisher
            from interceptors.audit.sending import Sender
            from interceptors.audit.spool import Spool
        except ModuleNotFoundError as missing:
            raise BadInterceptor(
                f"{missing.name} is not installed, and the audit needs it: pip install 'kafka-trial[audit]'."
            ) from None
        cluster, life = str(config.get("bootstrap.servers")), os.urandom(8).hex()
        if settings.role == "producer":
            self._counts = Producing(settings, now_ms)
            self._hop = Hop(cluster) if settings.transactional else None
        else:
            self._counts = Consuming(settings, now_ms)
            join(self._counts, cluster)
            self._times = self._counts.times
        self._batch = self._counts.batch
        spool = Spool(settings.spool, life) if settings.spool else None
        self._close_within = settings.close_ms / 1000
        self._publisher = Publisher(settings, life, self._counts, Sender(settings.connection, settings.topic), spool, now_ms)
        self._over = False
        _living.add(self)
        self._publisher.start()

    # ---- producers ----------------------------------------------------------------------------------------------------

    def on_acknowledgement(self, report: Report, error: Any, *, created: int = 0) -> None:  # type: ignore[override]
        if error is None:
            batch = self._batch
            batch += (report, created)  # in one step: other threads do the same
            self._bytes += len(report)  # type: ignore[arg-type]
            if len(batch) >= 2 * MOST_RECORDS or self._bytes > MOST_BYTES:
                self._absorb()
        elif not self._over:
            self._counts.failed(report, error)

    # ---- consumers ----------------------------------------------------------------------------------------------------

    def on_consume(self, records: list[Any]) -> list[Any]:
        batch = self._batch
        if len(records) == 1:
            batch.append(records[0])
            self._times.append(time_ns())
        else:
            batch += records
            self._times += [time_ns()] * len(records)
        try:
            for record in records:
                self._bytes += len(record)
        except TypeError:  # deserialised to something without a length
            pass
        if len(batch) >= MOST_RECORDS or self._bytes > MOST_BYTES:
            self._absorb()
        return records

    def on_commit(self, offsets: list[Any]) -> None:
        if not self._over:
            self._counts.committed(offsets)

    # ---- both ---------------------------------------------------------------------------------------------------------

    def on_event(self, event: Event) -> None:
        if not self._over:
            self._counts.happened(event)
            if self._hop is not None:
                self._hop.happened(event)

    def _absorb(self) -> None:
        self._bytes = 0
        if self._over:
            self._batch.clear()
            self._times.clear()
        else:
            self._counts.absorb()

    def close(self) -> None:
        if self._over:
            return
        self._over = True
        self._counts.over()
        self._publisher.end(self._close_within)

    def _forked(self) -> None:
        """The parent counts and reports; its child, whose clients do not work anyway, does neither."""
        self._over = True
        self._batch, self._times = [], []
        self._publisher.abandon()


def now_ms() -> int:
    return time_ns() // 1_000_000


_living: "weakref.WeakSet[Audit]" = weakref.WeakSet()


def _after_fork() -> None:
    for audit in list(_living):
        audit._forked()
    _living.clear()


os.register_at_fork(after_in_child=_after_fork)
