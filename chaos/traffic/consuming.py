"""A consumer whose ledger has every record it has processed, every assignment, and every offset its group commits.

A record counts as read once it is processed, not when librdkafka hands it over: between the two lies what an
auto-committing consumer loses when it crashes. So it says itself what it has processed; the rest its ledger hears.
"""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from chaos.traffic.plans import ConsumerPlan
from interceptors.ledger import Ledger
from interceptors.ledger.announcement import ListedValues
from interceptors.ledger.ledger_writer import LedgerWriter
from interceptors.ledger.valuing import PayloadValues, digits
from interceptors.loading import CLASSES, listed

REPORT_EVERY = 0.1  # seconds


class Consuming:
    def __init__(
        self, plan: ConsumerPlan, config: dict[str, Any], ledger: LedgerWriter, promise: ListedValues | None = None
    ) -> None:
        from interceptors import Consumer

        self.plan, self._ledger = plan, Ledger(ledger, PayloadValues(digits), promise)
        settings: dict[str, Any] = {
            "group.id": plan.group,
            "group.protocol": plan.protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": plan.commit in ("auto", "store"),
            "enable.auto.offset.store": plan.commit != "store",  # librdkafka stores it just before it hands the record over
            "isolation.level": plan.isolation,
            "log_level": 0,
        }
        if plan.static:
            settings["group.instance.id"] = plan.static
        told = config | settings | dict(plan.config)
        self._consumer: Any = Consumer(told | {CLASSES: [self._ledger, *listed(told.get(CLASSES))]})
        self._read: Counter[tuple[str, int]] = Counter()
        self._positions: dict[tuple[str, int], int] = {}  # last offset that is processed and not yet committed
        self._assigned: set[tuple[str, int]] = set()
        self._holding = self._paused = False
        self._held: list[list[Any]] = []  # records in the middle of being processed: topic, partition, offset, value
        self._commit_at = self._report_at = 0.0

    def run(self, command: Callable[[], str | None], report: Callable[[dict[str, Any]], None]) -> None:
        self._begin()
        while (order := command()) != "stop":
            self._obey(order)
            records = self._poll()
            if records and self._holding:
                self._hold(records, command, report)
                break
            self._process(records)
            if self.plan.commit == "store":
                self._store(set(self._positions))
            self._commit_if_due()
            self._account(report)
        self._close(report)

    def _obey(self, order: str | None) -> None:
        if order in ("pause", "resume"):
            getattr(self._consumer, order)(self._consumer.assignment())
            self._paused = order == "pause"
        self._holding = self._holding or order == "hold"

    def status(self) -> dict[str, Any]:
        read: dict[str, dict[str, int]] = {topic: {} for topic in self.plan.topics}
        for (topic, partition), count in self._read.items():
            read[topic][str(partition)] = count
        assigned = [list(where) for where in sorted(self._assigned)]
        committed = {f"{topic}-{partition}": offset for (topic, partition), offset in self._ledger.committed.items()}
        known = {"errors": dict(self._ledger.errors), "holding": self._held, "committed": committed, "paused": self._paused}
        return {"read": read, "assigned": assigned, **known}

    # ---- reading ----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        if self.plan.mode == "subscribe":
            self._consumer.subscribe(
                list(self.plan.topics), on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
            )
            return
        everything = [TopicPartition(t, p, OFFSET_BEGINNING) for t, count in self.plan.topics.items() for p in range(count)]
        self._consumer.assign(everything)
        self._on_assign(self._consumer, everything)

    def _poll(self) -> list[Any]:
        records = []
        for message in self._consumer.consume(self.plan.batch, timeout=0.05):
            if message.error() is None:
                records.append(message)
            else:
                self._ledger.poll_failed(message)
        return records

    def _process(self, records: list[Any]) -> None:
        if not records:
            return
        self._note(self._ledger.processed([self._work() for _ in records] if self.plan.process_ms else None))

    def _note(self, columns: dict[str, Any]) -> None:
        where = list(zip(columns["topic"], columns["partition"], strict=True))
        self._read.update(where)
        self._positions.update(zip(where, columns["offset"], strict=True))  # the last of each partition stays

    def _work(self) -> int:
        time.sleep(self.plan.process_ms / 1000)
        return time.monotonic_ns()

    def _hold(self, records: list[Any], command: Callable[[], str | None], report: Callable[[dict[str, Any]], None]) -> None:
        """In the middle of processing, for as long as it takes: alive to its group, which goes on committing for it."""
        self._held = [[m.topic(), m.partition(), m.offset(), digits(m.value())] for m in records]
        self._consumer.pause(self._consumer.assignment())
        while command() != "stop":
            self._consumer.poll(0.05)  # serves the callbacks; nothing is handed over while all is paused
            self._ledger.book.sync()  # this one is about to be killed, and what it knows is what the trial is about
            self._account(report)

    # ---- committing -------------------------------------------------------------------------------------------

    def _commit_if_due(self) -> None:
        if self.plan.commit == "sync" and self.plan.mode == "subscribe" and time.monotonic() >= self._commit_at:
            self._commit(set(self._positions))
            self._commit_at = time.monotonic() + self.plan.commit_every

    def _commit(self, partitions: set[tuple[str, int]]) -> None:
        from confluent_kafka import KafkaException

        if asked := self._done(partitions):
            try:
                answered = self._consumer.commit(offsets=asked, asynchronous=False)
            except KafkaException:  # the ledger has it
                refused = asked
            else:
                refused = [where for where in answered if where.error]
            # Told again with the next one, as an application would: librdkafka itself gives up on a coordinator that
            # still loads after two retries, and a partition without new records would never be committed.
            self._positions.update({(where.topic, where.partition): where.offset - 1 for where in refused})

    def _store(self, partitions: set[tuple[str, int]]) -> None:
        from confluent_kafka import KafkaException

        if asked := self._done(partitions):
            with suppress(KafkaException):  # taken away in the same poll: somebody else's now
                self._consumer.store_offsets(offsets=asked)

    def _done(self, partitions: set[tuple[str, int]]) -> list[Any]:
        """What the group may be told, and is to be told only once."""
        from confluent_kafka import TopicPartition

        positions = {where: self._positions.pop(where) for where in partitions & self._positions.keys()}
        if positions:
            self._ledger.book.sync()  # what a group is told is done must not be known to it alone, should we be killed
        return [TopicPartition(topic, partition, last + 1) for (topic, partition), last in sorted(positions.items())]

    # ---- the group --------------------------------------------------------------------------------------------

    def _on_assign(self, consumer: Any, partitions: list[Any]) -> None:
        self._assigned |= _places(partitions)

    def _on_revoke(self, consumer: Any, partitions: list[Any]) -> None:
        if self.plan.commit == "sync":
            self._commit(_places(partitions))
        self._on_lost(consumer, partitions)  # also when the commit was refused: the next one may be elsewhere by now

    def _on_lost(self, consumer: Any, partitions: list[Any]) -> None:
        self._assigned -= _places(partitions)
        for where in _places(partitions):  # somebody else's now: not ours to commit
            self._positions.pop(where, None)

    # ---- keeping account --------------------------------------------------------------------------------------

    def _account(self, report: Callable[[dict[str, Any]], None]) -> None:
        self._ledger.book.write_down()
        if time.monotonic() >= self._report_at:
            self._report_at = time.monotonic() + REPORT_EVERY
            report(self.status())

    def _close(self, report: Callable[[dict[str, Any]], None]) -> None:
        if self.plan.commit == "sync" and self.plan.mode == "subscribe":
            self._commit(set(self._positions))
        self._consumer.close()
        self._ledger.close()
        report(self.status())


def _places(partitions: list[Any]) -> set[tuple[str, int]]:
    return {(where.topic, where.partition) for where in partitions}
