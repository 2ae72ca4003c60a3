"""Reads everything back, and commits as an application would.

A partition is begun at its end, and nothing is sent to it before: the reader must not have missed what it is asked about.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

from exporters.histogram import Histogram
from exporters.probe.seen import ProbePlan, Seen
from exporters.probe.tallying import Tally

POLL = 0.2
COMMIT_EVERY = 1.0
COMMIT_LOST_AFTER = 60.0  # librdkafka answers long before


class Reader:
    def __init__(
        self,
        config: dict[str, Any],
        plan: ProbePlan,
        seen: Seen,
        instance: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config, self._plan, self._seen, self._instance, self._clock = config, plan, seen, instance, clock
        self._at: dict[int, int] = {}  # partition → where to read on
        self._commit_due = 0.0
        self._committing: float | None = None  # since when

    def run(self, stop: threading.Event) -> None:
        from confluent_kafka import Consumer, TopicPartition

        ours = {"group.id": self._plan.topic, "enable.auto.commit": False, "auto.offset.reset": "earliest", "log_level": 0}
        consumer = Consumer(self._config | ours | {"on_commit": self._committed})
        # After a mishap it goes on where it was.
        consumer.assign([TopicPartition(self._plan.topic, partition, offset) for partition, offset in self._at.items()])
        self._committing = None
        try:
            while not stop.is_set():
                self._begin_new(consumer)
                message = consumer.poll(POLL)
                if message is not None and message.error() is None:
                    self._take(message.partition(), message.offset(), message.value())
                self._commit(consumer)
        finally:
            consumer.close()

    def _begin_new(self, consumer: Any) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        with self._seen.lock:
            new = sorted(self._seen.homes.keys() - self._at.keys())
        for partition in new:
            try:
                _, end = consumer.get_watermark_offsets(TopicPartition(self._plan.topic, partition), timeout=2, cached=False)
            except KafkaException:
                return  # its leader does not answer: another time
            consumer.incremental_assign([TopicPartition(self._plan.topic, partition, end)])
            self._at[partition] = end
            with self._seen.lock:
                self._seen.tallies[partition] = Tally(self._plan.patience)

    def _take(self, partition: int, offset: int, value: bytes | None) -> None:
        instance, _, number = (value or b"").decode(errors="replace").partition(" ")
        self._at[partition] = offset + 1
        with self._seen.lock:
            tally = self._seen.tallies[partition]
            if instance == self._instance and number.isdigit():  # others may probe the same topic
                took = tally.read(int(number), offset, self._clock())
                if took is not None:
                    self._seen.roundtrips.setdefault(self._seen.homes.get(partition, -1), Histogram()).add(took)
            tally.reach(offset + 1)

    def _commit(self, consumer: Any) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        now = self._clock()
        if self._committing is not None and now - self._committing > COMMIT_LOST_AFTER:
            self._failed("_TIMED_OUT")
        if now < self._commit_due or self._committing is not None or not self._at:
            return
        self._commit_due, self._committing = now + COMMIT_EVERY, now
        where = [TopicPartition(self._plan.topic, partition, offset) for partition, offset in self._at.items()]
        try:
            consumer.commit(offsets=where, asynchronous=True)
        except KafkaException as trouble:
            self._failed(str(trouble.args[0].name()))

    def _committed(self, error: Any, partitions: list[Any]) -> None:
        wrong = error or next((where.error for where in partitions if where.error is not None), None)
        if wrong is not None:
            self._failed(str(wrong.name()))
        elif self._committing is not None:
            with self._seen.lock:
                self._seen.commits.add(self._clock() - self._committing)
            self._committing = None

    def _failed(self, error: str) -> None:
        self._committing = None
        with self._seen.lock:
            self._seen.commit_errors[error] += 1
