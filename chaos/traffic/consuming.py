"""A consumer that writes down every record it has processed, every assignment, and every offset its group commits.

A record counts as read once it is processed, not when librdkafka hands it over: between the two lies what an
auto-committing consumer loses when it crashes.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from chaos.evidence.ledger_writer import LedgerWriter
from chaos.traffic.outcomes import outcome_of_request
from chaos.traffic.plans import SMALLEST, ConsumerPlan
from kernel.ledger import Kind, Outcome

REPORT_EVERY = 0.1  # seconds


class Consuming:
    def __init__(self, plan: ConsumerPlan, config: dict[str, Any], ledger: LedgerWriter) -> None:
        from confluent_kafka import Consumer

        self.plan, self._ledger = plan, ledger
        settings: dict[str, Any] = {
            "group.id": plan.group,
            "group.protocol": plan.protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": plan.commit == "auto",
            "isolation.level": plan.isolation,
            "on_commit": self._committed,
            "log_level": 0,
        }
        if plan.static:
            settings["group.instance.id"] = plan.static
        self._consumer = Consumer(config | settings | dict(plan.config))
        self._op = 0
        self._read: Counter[tuple[str, int]] = Counter()
        self._positions: dict[tuple[str, int], int] = {}  # last offset that is processed and not yet committed
        self._assigned: set[tuple[str, int]] = set()
        self._errors: dict[str, int] = {}
        self._told: dict[tuple[str, int], int] = {}  # what the group was last told, by us or in our name
        self._holding = False
        self._held: list[list[Any]] = []  # records in the middle of being processed: topic, partition, offset, value
        self._commit_at = self._report_at = 0.0

    def run(self, command: Callable[[], str | None], report: Callable[[dict[str, Any]], None]) -> None:
        self._begin()
        while (order := command()) != "stop":
            if order == "pause":
                self._consumer.pause(self._consumer.assignment())
            elif order == "resume":
                self._consumer.resume(self._consumer.assignment())
            self._holding = self._holding or order == "hold"
            invoked, records = self._poll()
            if records and self._holding:
                self._hold(records, command, report)
                break
            self._process(invoked, records)
            self._commit_if_due()
            self._account(report)
        self._close(report)

    def status(self) -> dict[str, Any]:
        read: dict[str, dict[str, int]] = {topic: {} for topic in self.plan.topics}
        for (topic, partition), count in self._read.items():
            read[topic][str(partition)] = count
        assigned = [list(where) for where in sorted(self._assigned)]
        committed = {f"{topic}-{partition}": offset for (topic, partition), offset in self._told.items()}
        known = {"errors": self._errors, "holding": self._held, "committed": committed}
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

    def _poll(self) -> tuple[int, list[Any]]:
        invoked = time.monotonic_ns()
        records = []
        for message in self._consumer.consume(self.plan.batch, timeout=0.05):
            if message.error() is None:
                records.append(message)
            else:
                self._trouble(invoked, message)
        return invoked, records

    def _process(self, invoked: int, records: list[Any]) -> None:
        if not records:
            return
        self._op += 1
        done: int | list[int] = time.monotonic_ns() if not self.plan.process_ms else [self._work() for _ in records]
        columns = read_columns(records)
        where = list(zip(columns["topic"], columns["partition"], strict=True))
        self._read.update(where)
        self._positions.update(zip(where, columns["offset"], strict=True))  # the last of each partition stays
        self._ledger.rows(len(records), columns | {"op": self._op, "invoked_ns": invoked, "completed_ns": done})

    def _work(self) -> int:
        time.sleep(self.plan.process_ms / 1000)
        return time.monotonic_ns()

    def _hold(self, records: list[Any], command: Callable[[], str | None], report: Callable[[dict[str, Any]], None]) -> None:
        """In the middle of processing, for as long as it takes: alive to its group, which goes on committing for it."""
        self._held = [[m.topic(), m.partition(), m.offset(), int(m.value()[:SMALLEST])] for m in records]
        self._consumer.pause(self._consumer.assignment())
        while command() != "stop":
            self._consumer.poll(0.05)  # serves the callbacks; nothing is handed over while all is paused
            self._ledger.sync()  # this one is about to be killed, and what it knows is what the trial is about
            self._account(report)

    def _trouble(self, invoked: int, message: Any) -> None:
        name = str(message.error().name())
        self._errors[name] = self._errors.get(name, 0) + 1
        self._op += 1
        partition = message.partition() if message.topic() is not None else None
        self._row(Kind.POLL, Outcome.INFO, invoked, 0, error=name, topic=message.topic(), partition=partition)

    # ---- committing -------------------------------------------------------------------------------------------

    def _commit_if_due(self) -> None:
        if self.plan.commit == "sync" and self.plan.mode == "subscribe" and time.monotonic() >= self._commit_at:
            self._commit(set(self._positions))
            self._commit_at = time.monotonic() + self.plan.commit_every

    def _commit(self, partitions: set[tuple[str, int]]) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        positions = {where: self._positions.pop(where) for where in partitions & self._positions.keys()}
        if not positions:
            return
        self._ledger.sync()  # what a group is told is done must not be known to it alone, should we be killed
        invoked = time.monotonic_ns()
        self._op += 1
        asked = [TopicPartition(topic, partition, last + 1) for (topic, partition), last in sorted(positions.items())]
        try:
            answers, error = self._consumer.commit(offsets=asked, asynchronous=False), None
        except KafkaException as trouble:
            answers, error = asked, str(trouble.args[0].name())
        self._offsets_rows(invoked, answers, error)

    def _committed(self, error: Any, partitions: list[Any]) -> None:
        """librdkafka committed by itself."""
        if self.plan.commit == "auto":
            self._op += 1
            self._offsets_rows(time.monotonic_ns(), partitions, error and str(error.name()))

    def _offsets_rows(self, invoked: int, partitions: list[Any], error: str | None) -> None:
        for ix, where in enumerate(where for where in partitions if where.offset >= 0):
            name = error or (str(where.error.name()) if where.error else None)
            if name:
                self._errors[name] = self._errors.get(name, 0) + 1
            facts = {"topic": where.topic, "partition": where.partition, "offset": where.offset, "error": name}
            self._row(Kind.OFFSETS, outcome_of_request(name), invoked, ix, **facts)
            if name is None:
                self._told[where.topic, where.partition] = where.offset

    # ---- the group --------------------------------------------------------------------------------------------

    def _on_assign(self, consumer: Any, partitions: list[Any]) -> None:
        self._assigned |= self._group_rows(Kind.ASSIGN, partitions)

    def _on_revoke(self, consumer: Any, partitions: list[Any]) -> None:
        if self.plan.commit == "sync":
            self._commit({(where.topic, where.partition) for where in partitions})
        self._assigned -= self._group_rows(Kind.REVOKE, partitions)

    def _on_lost(self, consumer: Any, partitions: list[Any]) -> None:
        lost = self._group_rows(Kind.LOST, partitions)
        self._assigned -= lost
        for where in lost:  # somebody else's now: not ours to commit
            self._positions.pop(where, None)

    def _group_rows(self, kind: Kind, partitions: list[Any]) -> set[tuple[str, int]]:
        now = time.monotonic_ns()
        self._op += 1
        for ix, where in enumerate(partitions):
            self._row(kind, Outcome.OK, now, ix, topic=where.topic, partition=where.partition)
        return {(where.topic, where.partition) for where in partitions}

    # ---- keeping account --------------------------------------------------------------------------------------

    def _account(self, report: Callable[[dict[str, Any]], None]) -> None:
        if self._ledger.due:
            self._ledger.flush()
        if time.monotonic() >= self._report_at:
            self._report_at = time.monotonic() + REPORT_EVERY
            report(self.status())

    def _close(self, report: Callable[[dict[str, Any]], None]) -> None:
        if self.plan.commit == "sync" and self.plan.mode == "subscribe":
            self._commit(set(self._positions))
        self._consumer.close()
        self._ledger.close()
        report(self.status())

    def _row(self, kind: Kind, outcome: Outcome, invoked: int, ix: int, **more: Any) -> None:
        self._ledger.row(
            op=self._op, ix=ix, kind=kind, outcome=outcome, invoked_ns=invoked, completed_ns=time.monotonic_ns(), **more
        )


def read_columns(records: list[Any]) -> dict[str, Any]:
    """The ledger columns of records that were handed over by one poll."""
    return {
        "ix": range(len(records)),
        "kind": Kind.POLL,
        "outcome": Outcome.OK,
        "topic": [message.topic() for message in records],
        "partition": [message.partition() for message in records],
        "offset": [message.offset() for message in records],
        "epoch": [message.leader_epoch() for message in records],
        "value": [int(message.value()[:SMALLEST]) for message in records],
    }
