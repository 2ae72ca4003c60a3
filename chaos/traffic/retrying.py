"""An application that cannot process every record: it sends such a one to a retry topic, skips it, or tries until it can.

The retry topic is read by the same consumer. A record that is not due yet pauses its partition until it is: the member
stays in its group, and all other partitions go on. What comes of a record is sent on and acknowledged before the offset
is committed, so nothing is forgotten on the way.
"""

import time
from collections import Counter
from typing import Any

from chaos.traffic.consuming import Consuming
from chaos.traffic.failing import DEAD, DONE, Failing, hop, sent_on
from chaos.traffic.plans import RetryPlan
from interceptors.ledger.announcement import ListedValues
from interceptors.ledger.ledger_writer import LedgerWriter
from interceptors.ledger.valuing import SMALLEST, digits
from interceptors.loading import CLASSES
from kernel.errors import NotReady

PATIENCE = 60.0  # seconds for the answers to what one poll gave to do

Where = tuple[str, int]


class Retrying(Consuming):
    plan: RetryPlan

    def __init__(self, plan: RetryPlan, config: dict[str, Any], ledger: LedgerWriter, promise: ListedValues) -> None:
        from interceptors import Producer

        super().__init__(plan, config, ledger, promise)
        # One ledger for both: it is one application, and the order of what it does is part of the evidence.
        told = {"enable.idempotence": True, "acks": "all", "linger.ms": 5, "log_level": 0}
        self._producer: Any = Producer(config | told | {CLASSES: [self._ledger], "interceptor.close.timeout.ms": 0})
        self._failing = Failing()
        self._ended: Counter[str] = Counter()  # by what became of them: done, dead, skipped
        self._waiting: dict[Where, tuple[float, int]] = {}  # until when a partition is paused, and for which offset

    def status(self) -> dict[str, Any]:
        return {**super().status(), "ended": dict(self._ended), "fails_from": self._failing.first}

    def _obey(self, order: str | None) -> None:
        super()._obey(order)
        if order and order.startswith("fail-from "):
            self._failing = Failing(int(order.removeprefix("fail-from ")))

    # ---- reading ----------------------------------------------------------------------------------------------

    def _poll(self) -> list[Any]:
        for where in [where for where, (due, _) in self._waiting.items() if due <= time.time()]:
            self._go_on(where)
        return super()._poll()

    def _process(self, records: list[Any]) -> None:
        dealt_with, at = [], []
        for message in records:
            if self._not_yet(message):
                continue
            if self._deal_with(message):
                dealt_with.append(message)
                at.append(time.monotonic_ns())
        if self._producer.flush(PATIENCE):
            raise NotReady(f"what was sent on is not acknowledged after {PATIENCE:.0f} s: the broker is behind.")
        self._note(self._ledger.processed(at, dealt_with))

    def _not_yet(self, message: Any) -> bool:
        where = (message.topic(), message.partition())
        if message.topic() != self.plan.retry or where in self._waiting:
            return where in self._waiting  # behind one that is not due: it comes again with it
        _, sent_ms = message.timestamp()
        due = (sent_ms + 1 + self.plan.delay_ms) / 1000  # timestamps are whole milliseconds, rounded down
        if due <= time.time():
            return False
        self._waiting[where] = (due, message.offset())
        self._consumer.pause([_place(where)])
        return True

    def _go_on(self, where: Where) -> None:
        _, offset = self._waiting.pop(where)
        self._consumer.resume([_place(where)])
        # In this order: resume() would go on after the last record that was handed over, and this one was.
        self._consumer.seek(_place(where, offset))

    def _on_lost(self, consumer: Any, partitions: list[Any]) -> None:
        super()._on_lost(consumer, partitions)
        for where in partitions:
            self._waiting.pop((where.topic, where.partition), None)

    # ---- working ----------------------------------------------------------------------------------------------

    def _deal_with(self, message: Any) -> bool:
        """Whether anything came of it, be it a dead letter."""
        value, attempts = digits(message.value()), self.plan.attempts
        tried, failures = hop(value), self._failing.failures(value)
        if self.plan.way == "block":
            tried = min(failures, attempts - 1)
            time.sleep(tried * self.plan.delay_ms / 1000)
        if failures <= tried:
            self._send_on(message, self.plan.results, DONE, "done")
        elif self.plan.way == "skip":
            self._ended["skipped"] += 1
            return False
        elif tried + 1 < attempts:
            self._send_on(message, self.plan.retry, tried + 1, "retried")
        else:
            self._send_on(message, self.plan.dead_letters, DEAD, "dead")
        return True

    def _send_on(self, message: Any, topic: str, to: int, became: str) -> None:
        payload: bytes = message.value()
        value = b"%016d" % sent_on(digits(payload), to)
        self._producer.produce(topic, value + payload[SMALLEST:], partition=message.partition())
        self._ended[became] += 1

    def _close(self, report: Any) -> None:
        super()._close(report)
        self._producer.close()  # everything it sent was waited for


def _place(where: Where, offset: int | None = None) -> Any:
    from confluent_kafka import TopicPartition

    return TopicPartition(*where) if offset is None else TopicPartition(*where, offset)
