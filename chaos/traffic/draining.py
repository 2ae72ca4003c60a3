"""The closing reader: every record from offset 0 to the end of each log, and the statement that it stood there.

Without that statement a record that was not read may merely not have been reached, and nothing can be called lost.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from chaos.traffic.plans import DrainPlan
from interceptors.ledger.ledger_writer import LedgerWriter
from interceptors.ledger.reading import read_columns
from interceptors.ledger.valuing import PayloadValues, Values, digits
from interceptors.loading import split
from kernel.ledger import Kind, Outcome

BATCH = 10_000


class Draining:
    """`values`: how the records of the run carry theirs. Those that have none are somebody else's."""

    def __init__(self, plan: DrainPlan, config: dict[str, Any], ledger: LedgerWriter, values: Values | None = None) -> None:
        from confluent_kafka import Consumer, TopicPartition

        self.plan, self._ledger, self._values = plan, ledger, values or PayloadValues(digits)
        settings = {"group.id": "kafka-trial-drain", "enable.auto.commit": False, "isolation.level": "read_committed"}
        settings |= {"auto.offset.reset": "earliest", "enable.partition.eof": True, "fetch.wait.max.ms": 50, "log_level": 0}
        told, _ = split(config | settings | dict(plan.config))  # it is not the traffic that interceptors are about
        self._consumer = Consumer(told)
        self._surveyor = Consumer(told | {"isolation.level": "read_uncommitted"})
        self._partitions = [TopicPartition(t, p, 0) for t, count in plan.topics.items() for p in range(count)]
        self._at: dict[tuple[str, int], int] = {}  # where the reader stood when it was told that there is no more
        self._op = self._read = 0

    def run(self, command: Callable[[], str | None], report: Callable[[dict[str, Any]], None]) -> None:
        deadline = time.monotonic() + self.plan.timeout
        self._consumer.assign(self._partitions)
        ends: dict[tuple[str, int], int] = {}
        while time.monotonic() < deadline and command() != "stop":
            self._poll()
            if len(self._at) == len(self._partitions):
                # Asked only now: an end that was read before the last record was reached would be too low.
                ends = self._log_ends()
                if all(self._stood(where, ends) for where in self._at):
                    break
            if self._ledger.due:
                self._ledger.flush()
        self._state(ends)
        self._consumer.close()
        self._surveyor.close()
        self._ledger.close()
        report({"read": self._read, "drained": sum(self._stood(where, ends) for where in self._at)})

    def _poll(self) -> None:
        invoked = time.monotonic_ns()
        records = []
        for message in self._consumer.consume(BATCH, timeout=0.1):
            if message.error() is None:
                records.append(message)
            elif message.error().name() == "_PARTITION_EOF":
                self._at[message.topic(), message.partition()] = message.offset()
        if records:
            self._op += 1
            facts = {"op": self._op, "invoked_ns": invoked, "completed_ns": time.monotonic_ns()}
            columns = read_columns(records, self._values.find)
            self._read += len(columns["value"])
            self._ledger.rows(len(columns["value"]), columns | facts)

    def _log_ends(self) -> dict[tuple[str, int], int]:
        """The high watermark, transactions that are still open included: an end below it would not be the end.

        Not asked of the reader: to one of committed records the log ends at the last stable offset. (Nor of an admin
        client: confluent-kafka 2.16 answers -1001, without an error, when its brokers are silent.)"""
        from confluent_kafka import KafkaException

        ends: dict[tuple[str, int], int] = {}
        with suppress(KafkaException):  # nobody answers: what was not told has no end yet
            for where in self._partitions:
                _, end = self._surveyor.get_watermark_offsets(where, timeout=min(10.0, self.plan.timeout), cached=False)
                ends[where.topic, where.partition] = end
        return ends

    def _stood(self, where: tuple[str, int], ends: dict[tuple[str, int], int]) -> bool:
        return where in ends and self._at.get(where, -1) >= ends[where]

    def _state(self, ends: dict[tuple[str, int], int]) -> None:
        self._op += 1
        now = time.monotonic_ns()
        for ix, where in enumerate(self._partitions):
            key = (where.topic, where.partition)
            stood = self._stood(key, ends)
            self._ledger.row(
                op=self._op, ix=ix, kind=Kind.DRAINED, outcome=Outcome.OK if stood else Outcome.INFO, invoked_ns=now,
                completed_ns=now, topic=where.topic, partition=where.partition, offset=self._at.get(key),
            )  # fmt: skip
