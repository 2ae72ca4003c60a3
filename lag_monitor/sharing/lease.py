"""Who has which shard: a consumer group decides, and no ZooKeeper. An instance that dies is missed after its session, one
that ends well at once; a shard is taken up only after everything that its last holder wrote of it was read.

An instance that was stopped for longer than its session (by a debugger, or by a machine that slept) may send what it had in
its hands at the moment it wakes, before it learns that it was replaced. Notices carry a key for that.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kernel.cluster import ClusterAddress
from kernel.errors import UsageError

log = logging.getLogger(__name__)
POLL = 0.1


@dataclass(frozen=True, slots=True)
class Instances:
    """One shard: one instance tells, the others stand by and watch all the same. More: each has its share of the groups."""

    group: str = "kafka-trial-lag-monitor"
    topic: str = "kafka-trial.lag-incidents"
    shards: int = 1
    session: float = 10.0  # seconds after which one that is silent is taken for dead
    replication: int = 3


Gained = Callable[[int, Mapping[str, bytes]], None]  # a shard, and what was written of it
Lost = Callable[[frozenset[int]], None]


class Lease:
    def __init__(
        self, address: ClusterAddress, settings: Mapping[str, Any], plan: Instances, gained: Gained, lost: Lost
    ) -> None:
        self._address, self._plan, self._gained, self._lost = address, plan, gained, lost
        base = {**address.librdkafka(), **settings, "log_level": 0, "reconnect.backoff.max.ms": 2_000}
        self._base = base
        self._config = {
            **base,
            "group.id": plan.group,
            "session.timeout.ms": int(plan.session * 1000),
            "heartbeat.interval.ms": int(plan.session * 1000 / 4),
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
        self._producer: Any = None
        self._reading: dict[int, dict[str, bytes]] = {}  # shards that are being taken over
        self.held: set[int] = set()
        self.trouble = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="share with other instances", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """The others take over at once, and need not wait for a session to end."""
        self._stop.set()
        self._thread.join(5)

    def write(self, shard: int, key: str, value: bytes | None) -> None:
        from confluent_kafka import Producer

        if self._producer is None:
            self._producer = Producer({**self._base, "acks": "all", "enable.idempotence": True})
        self._producer.produce(self._plan.topic, key=key, value=value, partition=shard)
        self._producer.poll(0)

    def flush(self, timeout: float = 2.0) -> None:
        if self._producer is not None:
            self._producer.flush(timeout)

    def _run(self) -> None:
        from confluent_kafka import KafkaException

        while not self._stop.is_set():
            try:
                self._take_part()
            except (KafkaException, UsageError) as trouble:
                said = trouble.args[0].str() if isinstance(trouble, KafkaException) else trouble.message
                self._tell(f"no shard can be had: {said}")
                self._give_up(frozenset(self.held))
                self._stop.wait(1)
            except Exception:  # a bug of ours must not leave the alerts without anybody
                log.exception("sharing with other instances ended and is begun anew")
                self._give_up(frozenset(self.held))
                self._stop.wait(1)

    def _take_part(self) -> None:
        from confluent_kafka import Consumer

        self._make_topic()
        consumer = Consumer(self._config)
        try:
            consumer.subscribe([self._plan.topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked)
            while not self._stop.is_set():
                for message in consumer.consume(1_000, POLL):
                    self._take(message)
        finally:
            self._give_up(frozenset(self.held))
            consumer.close()

    def _make_topic(self) -> None:
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient(self._base)
        plan = self._plan
        known = admin.list_topics(timeout=10)
        if plan.topic in known.topics and known.topics[plan.topic].error is None:
            there = len(known.topics[plan.topic].partitions)
            if there != plan.shards:
                raise UsageError(f"the topic {plan.topic} has {there} partitions, and shards is {plan.shards}.")
            return
        copies = min(plan.replication, len(known.brokers))
        kept = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}
        made = admin.create_topics([NewTopic(plan.topic, plan.shards, copies, config=kept)])
        try:
            made[plan.topic].result(10)
        except KafkaException as trouble:
            if trouble.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        time.sleep(0.2)  # until other brokers know of it

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        from confluent_kafka import OFFSET_BEGINNING

        for one in partitions:
            one.offset = OFFSET_BEGINNING
            self._reading[one.partition] = {}
        consumer.assign(partitions)
        self._tell("")

    def _revoked(self, consumer: Any, partitions: list[Any]) -> None:
        shards = frozenset(one.partition for one in partitions)
        for shard in shards:
            self._reading.pop(shard, None)
        self._give_up(shards & self.held)

    def _give_up(self, shards: frozenset[int]) -> None:
        if shards:
            self.held -= shards
            log.info("shards %s are another's now", sorted(shards))
            self._lost(shards)

    def _take(self, message: Any) -> None:
        from confluent_kafka import KafkaError

        error, shard = message.error(), message.partition()
        if error is None:
            if shard in self._reading:
                key = message.key().decode("utf-8", "replace")
                if message.value() is None:
                    self._reading[shard].pop(key, None)
                else:
                    self._reading[shard][key] = message.value()
        elif error.code() == KafkaError._PARTITION_EOF:
            if shard in self._reading:
                self.held.add(shard)
                log.info("shard %d is ours", shard)
                self._gained(shard, self._reading.pop(shard))
        else:
            self._tell(f"{self._plan.topic} cannot be read: {error.str()}")

    def _tell(self, trouble: str) -> None:
        if trouble and trouble != self.trouble:
            log.warning("%s", trouble)
        self.trouble = trouble
