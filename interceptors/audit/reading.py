"""The audit topic, read from its beginning (or from a moment) to its end, and on. A restart simply reads it again.

No group and no commit: whoever may read the topic can audit, as many at once as they like.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from interceptors.audit.report import NoReport, Report, decode

USUAL = {
    "group.id": "kafka-trial-audit-reader",  # asked for by librdkafka, and not used
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "log_level": 0,
}
LOOK_EVERY = 10.0  # seconds between two looks at which partitions there are
STUCK_AFTER = 3.0  # seconds without a word from a partition whose end was not reached
Arrived = tuple[Report, int]  # and when the topic received it, in ms


class Reader:
    """Belongs to one thread."""

    def __init__(self, connection: Mapping[str, Any], topic: str, since_ms: int | None = None) -> None:
        from confluent_kafka import Consumer

        self._consumer = Consumer(USUAL | dict(connection))
        self._topic, self._since_ms = topic, since_ms
        self._partitions: dict[int, bool] = {}  # and whether its end was reached
        self._next: dict[int, int] = {}  # where to go on, partition by partition
        self._ends: dict[int, int] = {}  # where it ended when we came
        self._looked = float("-inf")
        self._news = time.monotonic()
        self.malformed = 0
        self.up = False

    @property
    def exists(self) -> bool:
        return bool(self._partitions)

    @property
    def at_end(self) -> bool:
        """Of all partitions, once; or there is no such topic, on a cluster that answers."""
        return self.up and all(self._partitions.values()) and bool(self._partitions or not self._ends)

    def read(self, timeout: float, most: int = 500) -> list[Arrived]:
        self._look()
        if not self._partitions:
            time.sleep(min(timeout, 0.2))
            return []
        messages = self._consumer.consume(most, timeout)
        if messages:
            self._news = time.monotonic()
        elif not self.at_end and time.monotonic() - self._news > STUCK_AFTER:
            self._begin_again()
        return [arrived for message in messages if (arrived := self._arrived(message))]

    def log_ends(self, wheres: Iterable[tuple[str, int]], timeout: float = 5.0) -> dict[tuple[str, int], int]:
        """Where logs end for a reader, of those that answer."""
        from confluent_kafka import KafkaException, TopicPartition

        found = {}
        for topic, partition in wheres:
            try:
                found[topic, partition] = int(
                    self._consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=timeout)[1]
                )
            except KafkaException:  # another cluster's topic, or a broker that is away: then nothing is known
                continue
        return found

    def close(self) -> None:
        self._consumer.close()

    def _arrived(self, message: Any) -> Arrived | None:
        from confluent_kafka import KafkaError

        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                self._partitions[message.partition()] = True
            return None
        number = message.partition()
        self._next[number] = message.offset() + 1
        # Clients report all the time, so the end of the partition may never come: what counts is where it was at first.
        self._partitions[number] = self._partitions[number] or self._next[number] >= self._ends[number]
        try:
            return decode(message.value()), message.timestamp()[1]
        except NoReport:
            self.malformed += 1
            return None

    def _begin_again(self) -> None:
        """A partition that was assigned before its leader was there may wait for the next look at the metadata: minutes."""
        from confluent_kafka import TopicPartition

        self._news = time.monotonic()
        stuck = [number for number, ended in self._partitions.items() if not ended]
        self._consumer.incremental_unassign([TopicPartition(self._topic, number) for number in stuck])
        self._partitions = {number: True for number, ended in self._partitions.items() if ended}
        self._looked = float("-inf")

    def _look(self) -> None:
        """Which partitions there are: none at first, if nobody has reported yet."""
        from confluent_kafka import KafkaException, TopicPartition

        now = time.monotonic()
        if now - self._looked < (LOOK_EVERY if self._partitions else 0.5):
            return
        self._looked = now
        try:
            known = self._consumer.list_topics(self._topic, timeout=5).topics[self._topic]
            new = [number for number in known.partitions if number not in self._partitions]
            for number in new:
                _, self._ends[number] = self._consumer.get_watermark_offsets(TopicPartition(self._topic, number), timeout=5)
            if new:
                self._consumer.incremental_assign(self._places(new))
            self._partitions.update(dict.fromkeys(new, False))
            self.up = True
        except KafkaException:
            self.up = False

    def _places(self, partitions: list[int]) -> list[Any]:
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        if self._since_ms is None or self._next:
            return [TopicPartition(self._topic, number, self._next.get(number, OFFSET_BEGINNING)) for number in partitions]
        asked = [TopicPartition(self._topic, number, self._since_ms) for number in partitions]
        return list(self._consumer.offsets_for_times(asked, timeout=10))
