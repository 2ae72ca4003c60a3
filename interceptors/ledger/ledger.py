"""The ledger of one client, written from what its interceptor hears: every record sent and read, and what became of it.

With it in the configuration of an application's clients, `kafka-trial check` judges the application's own traffic. Hooks
only note what happened; a thread of the ledger's own writes it down, and a full disk never reaches the application.
"""

import atexit
import json
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from interceptors.contract import Event, Happening, Interceptor
from interceptors.ledger.announcement import Announcement, ListedValues
from interceptors.ledger.book import Book, Row
from interceptors.ledger.client_facts import client_facts
from interceptors.ledger.deliveries import Deliveries, Sent, name_of
from interceptors.ledger.joining import Joined, changing, join
from interceptors.ledger.reading import read_columns
from interceptors.ledger.settings import Settings, read_settings
from interceptors.ledger.transactions import Transactions
from interceptors.ledger.valuing import HeaderValues, PayloadValues, Values
from interceptors.loading import BadInterceptor
from interceptors.outcomes import outcome_of_request
from interceptors.record import ProducerRecord, Refused, Report
from kernel.ledger import Kind, Outcome

if TYPE_CHECKING:
    from interceptors.ledger.ledger_writer import LedgerWriter

LOG = logging.getLogger("interceptors.ledger")
QUEUE_FULL = "_QUEUE_FULL"
# A seek begins a new stretch of reading, as an assignment does.
GROUP = {
    Happening.ASSIGN: Kind.ASSIGN,
    Happening.SEEK: Kind.ASSIGN,
    Happening.REVOKE: Kind.REVOKE,
    Happening.LOST: Kind.LOST,
}
TRANSACTION = (Happening.BEGIN, Happening.COMMIT, Happening.ABORT, Happening.SEND_OFFSETS)


class Promise(Protocol):
    def sending(self, value: int) -> None: ...
    def kept(self) -> None: ...


class Ledger(Interceptor):
    """By its class name in a configuration it needs `interceptor.ledger.folder`. Made by hand, as trials do, it is given
    its parts; then its owner says when a record was processed and when to write down what is known."""

    def __init__(
        self, writer: "LedgerWriter | None" = None, values: Values | None = None, promise: Promise | None = None
    ) -> None:
        self.deliveries = Deliveries()
        self.errors: Counter[str] = Counter()  # of polls and commits; those of sends are with the deliveries
        self.committed: dict[tuple[str, int], int] = {}  # what the group was last told, by us or in our name
        self.foreign = 0  # records that bore no value of ours
        self.scheduled_ns: int | None = None  # when the next record was meant to be sent
        self._joined: Joined | None = None
        self._book = None if writer is None else Book(writer, self.deliveries)
        self._values, self._promise = values, promise
        self._transactions = Transactions(writer.client if writer else "")
        self._again: dict[int, Sent] = {}  # refused by a full queue: the application will come again with the same record
        self._sender: int | None = None  # the thread that sends, as long as it is alone
        self._alone = True
        self._polled_ns = 0
        self._handed: list[Any] = []
        self._lock = threading.Lock()
        self._broken = False
        self._process = os.getpid()

    def configure(self, config: Mapping[str, Any]) -> None:
        if self._joined is not None:
            raise BadInterceptor("one Ledger cannot serve two clients: give its class, or one for each.")
        if self._book is None:
            settings = read_settings(config)
            client, value = client_facts(config), settings.value_name
            self._joined = join(settings.folder, name=settings.client, facts=client, run_id=settings.run, value=value)
            self._begin(settings, self._joined)

    def _begin(self, settings: Settings, joined: Joined) -> None:
        from interceptors.ledger.ledger_writer import LedgerWriter

        writer = LedgerWriter(joined.ledger, joined.run_id, joined.client)
        self._book = Book(writer, self.deliveries, troubled=self._troubled)
        self._transactions = Transactions(joined.client)
        if settings.value_of is None:
            self._values = HeaderValues(joined.run_id, joined.first)
        else:
            self._values = PayloadValues(settings.value_of)
        atexit.register(self.close)  # an application that ends without closing its clients keeps what is known

    @property
    def client(self) -> str:
        """Its name in the ledger."""
        return "" if self._book is None else self._book.client

    @property
    def open(self) -> int:
        """How many records are without an answer."""
        return len(self.deliveries.open) + len(self._again)

    # ---- sending ------------------------------------------------------------------------------------------------------

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        assert self._values is not None and self._book is not None  # noqa: S101
        if self._broken:
            return record  # without a value: nobody will know of it
        value, record = self._values.give(record)
        if value is None:
            self.foreign += 1
            return record
        (self._promise or self._promised()).sending(value)
        if self._alone and self._sender != threading.get_ident():
            self._sent_by(threading.get_ident())
        sent = self._again.pop(value, None) if self._again else None
        if sent is None:
            sent = Sent(next(self._book.ops), time.monotonic_ns(), self.scheduled_ns, self._transactions.current, value)
        self.deliveries.open[sent.op] = sent
        return record.heard_by(self, self._heard, sent)

    def _heard(self, report: Report, error: Any, record: ProducerRecord, sent: Sent) -> None:
        if report.__class__ is Refused and isinstance(self._values, PayloadValues) and name_of(error) == QUEUE_FULL:
            # Handed over again, it has the same value, and is the same send.
            self._again[sent.value] = self.deliveries.open.pop(sent.op)
        else:
            self.deliveries.delivered(sent, error, report)

    def _promised(self) -> Promise:
        with self._lock:
            if self._promise is None:
                at = self._joined
                assert at is not None  # noqa: S101
                if isinstance(self._values, HeaderValues):
                    self._promise = Announcement(at.ledger, run_id=at.run_id, client=at.client, first=at.first, topic=None)
                else:
                    self._promise = ListedValues(at.ledger, run_id=at.run_id, client=at.client)
            return self._promise

    def _sent_by(self, thread: int) -> None:
        """Of two threads nobody knows whose record comes first into the queue: such a client promises no order."""
        with self._lock:
            self._alone = self._sender is None
            self._sender = thread
            if not self._alone and self._joined is not None:
                with changing(self._joined.folder) as manifest:
                    manifest["clients"][self._joined.client]["ordered"] = False

    # ---- reading ------------------------------------------------------------------------------------------------------

    def on_poll(self) -> None:
        self._polled_ns = time.monotonic_ns()

    def on_consume(self, records: list[Any]) -> list[Any]:
        self._handed = records
        if self._joined is not None:
            self.processed()
        return records

    def processed(self, completed_ns: int | list[int] | None = None, records: list[Any] | None = None) -> dict[str, Any]:
        """What was last handed over counts as read, or these `records` of it. Returns the columns of those that are ours."""
        assert self._values is not None  # noqa: S101
        records, self._handed = self._handed if records is None else records, []
        columns = read_columns(records, self._values.find)
        count = len(columns["value"])
        self.foreign += len(records) - count
        if count:
            done = time.monotonic_ns() if completed_ns is None else completed_ns
            within = {"txn": self._transactions.current}  # of whoever reads and writes in one transaction
            self.book.columns(count, {**columns, **within, "invoked_ns": self._polled_ns, "completed_ns": done})
        return columns

    def poll_failed(self, message: Any) -> None:
        """An error that a poll handed over in the place of a record."""
        name = name_of(message.error())
        self.errors[name] += 1
        where = {"topic": message.topic(), "partition": message.partition() if message.topic() is not None else None}
        times = {"invoked_ns": self._polled_ns, "completed_ns": time.monotonic_ns()}
        self.book.operation([{"kind": Kind.POLL, "outcome": Outcome.INFO, "error": name, **where, **times}])

    # ---- whatever else ------------------------------------------------------------------------------------------------

    def on_event(self, event: Event) -> None:
        if event.what in TRANSACTION:
            for rows in self._transactions.happened(event):
                self.book.operation(rows)
        elif event.what is Happening.OFFSETS:
            self.book.operation([self._offset(event, where) for where in event.partitions if where.offset >= 0])
        elif kind := GROUP.get(event.what):
            self.book.operation([_row(event, kind, Outcome.OK, where) for where in event.partitions])

    def _offset(self, event: Event, where: Any) -> Row:
        error = event.error or where.error
        name = error and name_of(error)
        if name:
            self.errors[name] += 1
        else:
            self.committed[where.topic, where.partition] = where.offset
        return _row(event, Kind.OFFSETS, outcome_of_request(name), where) | {"offset": where.offset, "error": name}

    # ---- writing ------------------------------------------------------------------------------------------------------

    @property
    def book(self) -> Book:
        if self._book is None:
            raise BadInterceptor("this Ledger belongs to no client yet: it is configured by the client that it is given to.")
        return self._book

    def close(self) -> None:
        """What is without an answer may be in the log. May be called more than once."""
        if self._book is None or os.getpid() != self._process:
            return  # in the child of a fork, all that is its parent's
        atexit.unregister(self.close)
        for rows in self._transactions.settled():
            self._book.operation(rows)
        self._book.close(self._left)
        if self._promise is not None:  # not kept if the ledger could not be written
            promise, self._promise = self._promise, None
            promise.kept()

    def _left(self) -> list[Row]:
        """What has no answer, and what a full queue refused and nobody tried again."""
        unknown = {"ix": 0, "kind": Kind.SEND, "outcome": Outcome.INFO, "error": "_DESTROY"}
        refused = unknown | {"outcome": Outcome.FAIL, "error": QUEUE_FULL}
        opened, again = self.deliveries.open.values(), self._again.values()
        return [*(sent._asdict() | unknown for sent in opened), *(sent._asdict() | refused for sent in again)]

    def _troubled(self, error: Exception) -> None:
        """For the verdict too, if the disk still takes that much: a run whose ledger has a hole proves nothing."""
        self._broken = True
        LOG.error("the ledger of %s is not written any more, so its run cannot be judged: %r", self.client, error)
        assert self._joined is not None  # noqa: S101
        sentence = f"The ledger of {self.client} could not be written to its end: {error}."
        line = {"t_ns": time.monotonic_ns(), "event": "expectation", "name": "ledger", "holds": None, "sentence": sentence}
        with suppress(OSError), (self._joined.folder / "events.jsonl").open("a") as events:
            events.write(json.dumps(line) + "\n")


def _row(event: Event, kind: Kind, outcome: Outcome, where: Any) -> Row:
    times = {"invoked_ns": event.invoked_ns, "completed_ns": event.completed_ns}
    return {"kind": kind, "outcome": outcome, "topic": where.topic, "partition": where.partition, **times}
