"""Sends a numbered record to every partition at a steady pace, whatever becomes of those before."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from exporters.histogram import Histogram
from exporters.probe.seen import ProbePlan, Seen

POLL = 0.2


class Sender:
    def __init__(
        self,
        config: dict[str, Any],
        plan: ProbePlan,
        seen: Seen,
        instance: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        patience = {"acks": "all", "linger.ms": 0, "message.timeout.ms": int(plan.give_up_after * 1000), "log_level": 0}
        self._config = patience | config
        self._plan, self._seen, self._instance, self._clock = plan, seen, instance, clock
        self._next: Counter[int] = Counter()  # number of a partition's next record

    def run(self, stop: threading.Event) -> None:
        from confluent_kafka import Producer

        producer, due = Producer(self._config), self._clock()
        while not stop.is_set():
            if not self._serve(producer, max(0.0, min(POLL, due - self._clock()))):
                producer = Producer(self._config)
                with self._seen.lock:
                    self._seen.restarts += 1
            now = self._clock()
            if now >= due:
                due = max(due + self._plan.interval, now)  # a round that was missed is not made up for
                self._round(producer, now)
        producer.purge()
        producer.flush(2)

    def _serve(self, producer: Any, timeout: float) -> bool:
        """Whether it is still of use. An idempotent producer may fail for good, after an unclean election for one."""
        from confluent_kafka import KafkaException

        try:
            producer.poll(timeout)
        except (KafkaException, SystemError):
            return False
        return True

    def _round(self, producer: Any, now: float) -> None:
        with self._seen.lock:
            partitions = list(self._seen.tallies)
            for tally in self._seen.tallies.values():
                tally.look(now)
        for partition in partitions:
            self._one(producer, partition)

    def _one(self, producer: Any, partition: int) -> None:
        from confluent_kafka import KafkaException

        number = self._next[partition]
        self._next[partition] += 1
        with self._seen.lock:
            self._seen.tallies[partition].send(number, self._clock())

        def delivered(error: Any, message: Any) -> None:
            with self._seen.lock:
                tally = self._seen.tallies[partition]
                if error is not None:
                    tally.fail(number, str(error.name()))
                elif (took := tally.ack(number, message.offset(), self._clock())) is not None:
                    self._seen.acks.setdefault(self._seen.homes.get(partition, -1), Histogram()).add(took)

        try:
            producer.produce(self._plan.topic, f"{self._instance} {number}", partition=partition, on_delivery=delivered)
        except (BufferError, KafkaException) as trouble:
            error = "_QUEUE_FULL" if isinstance(trouble, BufferError) else str(trouble.args[0].name())
            with self._seen.lock:
                self._seen.tallies[partition].fail(number, error)
