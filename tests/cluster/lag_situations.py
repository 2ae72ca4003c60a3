"""Consumers in every situation that a lag monitor must tell apart, on a real cluster: each with a topic of its own."""

import threading
import time
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from kernel.cluster import ClusterAddress

RATE = 40.0  # records a second to each topic
COMMIT = 0.5  # seconds between commits


class Traffic:
    """Writes to each topic at an even rate, until it ends or the topic is taken from it."""

    def __init__(self, address: ClusterAddress, topics: set[str]) -> None:
        self._producer = Producer(address.librdkafka() | {"log_level": 0, "linger.ms": 20})
        self.topics = set(topics)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Traffic":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            for topic in list(self.topics):
                self._producer.produce(topic, b"record", partition=0)
            self._producer.poll(0)
            due += 1 / RATE
            self._stop.wait(max(0.0, due - time.monotonic()))
        self._producer.flush(5)


class Member:
    """One consumer in a thread. What it does with a record can be changed while it runs."""

    def __init__(self, address: ClusterAddress, group: str, topic: str, **config: object) -> None:
        self.group, self.topic = group, topic
        self.pause = 0.0  # seconds that each record takes
        self.stuck = threading.Event()  # goes on polling, and handles nothing
        self._stop, self._dead = threading.Event(), threading.Event()
        ours = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False, "log_level": 0}
        session = {} if config.get("group.protocol") == "consumer" else {"session.timeout.ms": 6_000}
        self._consumer = Consumer(address.librdkafka() | ours | session | config)
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def leave(self) -> None:
        self._stop.set()
        self._thread.join(15)

    def unstick(self) -> None:
        """From now on it handles records again, and at once."""
        self.pause = 0.0
        self.stuck.clear()

    def _run(self) -> None:
        committed = time.monotonic()
        last: Any = None
        while not self._stop.is_set():
            if self.stuck.is_set():
                self._consumer.pause(self._consumer.assignment())
                self._consumer.poll(0.1)
                if not self.stuck.is_set():
                    self._consumer.resume(self._consumer.assignment())
                continue
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                last = message
                self._stop.wait(self.pause)
            if last is not None and time.monotonic() - committed > COMMIT:
                self._commit(last)
                committed, last = time.monotonic(), None
        self._consumer.close()

    def _commit(self, last: Any) -> None:
        with suppress(KafkaException):  # a rebalance, or the topic is gone: what becomes of it is what is looked at
            self._consumer.commit(last, asynchronous=False)


class ExactlyOnce:
    """Reads, writes, and commits what it has read in the transaction; so its own input always ends in a marker."""

    def __init__(self, address: ClusterAddress, group: str, source: str, target: str) -> None:
        self._stop = threading.Event()
        self.idle = threading.Event()  # nothing more is written to the source
        self._source = source
        self._feeder = Producer(address.librdkafka() | {"transactional.id": f"{group}-feeder", "log_level": 0})
        self._producer = Producer(address.librdkafka() | {"transactional.id": group, "log_level": 0})
        self._target = target
        ours = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False, "log_level": 0}
        self._consumer = Consumer(address.librdkafka() | ours | {"isolation.level": "read_committed"})
        self._consumer.subscribe([source])
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._feed, self._run)]
        for thread in self._threads:
            thread.start()

    def leave(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(15)

    def _feed(self) -> None:
        self._feeder.init_transactions(30)
        while not self._stop.is_set():
            if not self.idle.is_set():
                self._feeder.begin_transaction()
                for _ in range(5):
                    self._feeder.produce(self._source, b"record", partition=0)
                self._feeder.commit_transaction(10)
            self._stop.wait(0.2)

    def _run(self) -> None:
        self._producer.init_transactions(30)
        while not self._stop.is_set():
            messages = [one for one in self._consumer.consume(50, 0.3) if one.error() is None]
            if not messages:
                continue
            self._producer.begin_transaction()
            for message in messages:
                self._producer.produce(self._target, message.value(), partition=0)
            reached = [TopicPartition(self._source, 0, messages[-1].offset() + 1)]
            self._producer.send_offsets_to_transaction(reached, self._consumer.consumer_group_metadata())
            self._producer.commit_transaction(10)
        self._consumer.close()


class OpenTransaction:
    """Begins a transaction, writes, and leaves it open until it is told."""

    def __init__(self, address: ClusterAddress, topic: str) -> None:
        self._producer = Producer(
            address.librdkafka() | {"transactional.id": f"open-{topic}", "transaction.timeout.ms": 600_000, "log_level": 0}
        )
        self._producer.init_transactions(30)
        self._producer.begin_transaction()
        self._producer.produce(topic, b"unfinished", partition=0)
        self._producer.flush(10)

    def end(self) -> None:
        self._producer.abort_transaction(10)


def rewind(address: ClusterAddress, group: str, topic: str, offset: int) -> None:
    """As an operator does it: the group has to be empty."""
    consumer = Consumer(address.librdkafka() | {"group.id": group, "log_level": 0})
    try:
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    finally:
        consumer.close()
