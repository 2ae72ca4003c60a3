"""Reads everything back."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from exporters.histogram import Histogram
from exporters.probe.seen import ProbePlan, Seen, Start

log = logging.getLogger(__name__)
POLL = 0.2


class Reader:
    def __init__(
        self,
        config: Mapping[str, Any],
        plan: ProbePlan,
        seen: Seen,
        instance: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # A place that is not there any more is told: the log was cut, or the topic is another. The keeper knows which.
        ours = {"group.id": plan.topic, "enable.auto.commit": False, "auto.offset.reset": "error", "log_level": 0}
        self.config = {**config, **ours}
        self._plan, self._seen, self._instance, self._clock = plan, seen, instance, clock
        self._topic_id: str | None = None
        self._begun: dict[int, Start] = {}  # partition
        self._at: dict[int, int] = {}  # partition → where to read on
        self._trouble: dict[int, str] = {}  # partition → what was said last

    def run(self, stop: threading.Event) -> None:
        """Until another topic has taken the place of this one: librdkafka compares the leader epochs of the two, takes the
        new one's for old news, and may not read on."""
        from confluent_kafka import Consumer, TopicPartition

        if self._topic_id != self._seen.topic_id:
            self._topic_id, self._begun, self._at = self._seen.topic_id, {}, {}
        if self._topic_id is None:
            stop.wait(POLL)
            return
        consumer = Consumer(self.config)
        # After a mishap it goes on where it was.
        consumer.assign([TopicPartition(self._plan.topic, partition, offset) for partition, offset in self._at.items()])
        try:
            while not stop.is_set() and self._follow(consumer):
                message = consumer.poll(POLL)
                if message is not None and message.error() is None:
                    self._take(message.partition(), message.offset(), message.value())
                elif message is not None:
                    self._wrong(message.partition(), message.error())
        finally:
            consumer.close()

    def _follow(self, consumer: Any) -> bool:
        """Reads what the keeper has begun, and nothing else. Whether it is still the same topic."""
        from confluent_kafka import TopicPartition

        with self._seen.lock:
            if self._seen.topic_id != self._topic_id:
                return False
            wanted = dict(self._seen.starts)
        ended = [partition for partition, start in self._begun.items() if wanted.get(partition) is not start]
        if ended:
            consumer.incremental_unassign([TopicPartition(self._plan.topic, partition) for partition in ended])
        for partition in ended:
            del self._begun[partition], self._at[partition]
        new = {partition: start for partition, start in wanted.items() if partition not in self._begun}
        if new:
            consumer.incremental_assign(
                [TopicPartition(self._plan.topic, partition, start.offset) for partition, start in new.items()]
            )
        self._begun |= new
        self._at |= {partition: start.offset for partition, start in new.items()}
        return True

    def _take(self, partition: int, offset: int, value: bytes | None) -> None:
        instance, _, number = (value or b"").decode(errors="replace").partition(" ")
        ours = instance == self._instance and number.isdecimal()  # others may probe the same topic
        self._at[partition] = offset + 1
        self._trouble.pop(partition, None)
        with self._seen.lock:
            self._seen.positions[partition] = offset + 1
            took = self._seen.tallies[partition].read(int(number) if ours else None, offset, self._clock())
            if took is not None:
                self._seen.roundtrips.setdefault(self._seen.served_by(partition), Histogram()).add(took)

    def _wrong(self, partition: int, error: Any) -> None:
        from confluent_kafka import KafkaError

        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION, KafkaError.OFFSET_OUT_OF_RANGE):
            with self._seen.lock:
                self._seen.adrift.add(partition)
        if self._trouble.get(partition) != error.name():
            self._trouble[partition] = error.name()
            log.warning("reading partition %s of %s: %s", partition, self._plan.topic, error.str())
