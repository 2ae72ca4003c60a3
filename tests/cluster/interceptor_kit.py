"""What tests of the wrapped clients share: a quick cluster, clients of either make, an interceptor that hears all."""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, TopicPartition

from compose.cluster import Cluster
from interceptors.contract import Event
from tests.pure.recording_interceptor import Recording

QUICK = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "message.max.bytes": "3000000",
}
AS_LONG = 60  # seconds until a state must have come
NUMBERS = itertools.count()


class Hearing(Recording):
    """With whole events too, and without the noise of polls in its log."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []
        self.polls = 0

    def on_poll(self) -> None:
        self.polls += 1

    def on_event(self, event: Event) -> None:
        self.events.append(event)
        super().on_event(event)


class Kit:
    """A topic of three partitions and a group of its own, and clients of one make."""

    def __init__(self, cluster: Cluster, make: Any, chain: list[Any] | None) -> None:
        self.cluster, self._make, self._chain = cluster, make, chain
        number = next(NUMBERS)
        self.topic, self.group = f"orders-{number}", f"group-{number}"
        cluster.create_topic(self.topic, partitions=3)

    def config(self, **more: Any) -> dict[str, Any]:
        named = {name if name.startswith("on_") else name.replace("_", "."): value for name, value in more.items()}
        heard = {} if self._chain is None else {"interceptor.classes": list(self._chain)}
        return self.cluster.address.librdkafka() | {"log_level": 0} | heard | named

    def client(self, name: str, **more: Any) -> Any:
        return getattr(self._make, name)(self.config(**more))

    def producer(self, **more: Any) -> Any:
        return self.client("Producer", **more)

    def consumer(self, **more: Any) -> Any:
        settings = {"group_id": self.group, "auto_offset_reset": "earliest", "enable_auto_commit": False}
        return self.client("Consumer", **(settings | more))

    def fill(self, *values: str, partition: int = 0, **more: Any) -> None:
        """By an original, so that it is not part of what is heard."""
        with confluent_kafka.Producer(self.cluster.address.librdkafka() | {"log_level": 0}) as producer:
            for value in values:
                producer.produce(self.topic, value, partition=partition, **more)

    def where(self, offset: int = -1001, partition: int = 0) -> TopicPartition:
        return TopicPartition(self.topic, partition, offset)

    def committed(self) -> dict[int, int]:
        return {partition: offset for (_, partition), offset in self.cluster.committed(self.group).items()}


def read(consumer: Any, count: int) -> list[Any]:
    """So many records, by a poll loop as everybody writes it."""
    records: list[Any] = []
    deadline = time.monotonic() + AS_LONG
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} records of {count} were read"
        message = consumer.poll(0.1)
        if message is None:
            continue
        if message.error():
            assert message.error().code() == KafkaError._PARTITION_EOF
            continue
        records.append(message)
    return records


def facts(message: Any) -> Any:
    return message.partition(), message.offset(), message.key(), message.value(), message.headers(), message.timestamp()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1, config=QUICK, provider="processes") as cluster:
        yield cluster
