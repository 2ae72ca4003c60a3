"""Who has which shard: a consumer group decides, and no ZooKeeper. An instance that dies is missed after its session, one
that ends well at once; a shard is taken up only after everything that its last holder wrote of it was read.

While the cluster where instances meet is away, whoever has a shard keeps it for a session; then librdkafka takes it away,
and nobody has it until the cluster is back: one that cannot reach it cannot know whether another can.

An instance that was stopped for longer than its session (by a debugger, or by a machine that slept) gives up everything as
it wakes, and begins anew. What it had on the wire at that moment still arrives: notices carry a key for that. And what it
writes late of a shard that is another's is seen by that other, and written over.
"""

import logging
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kernel.cluster import ClusterAddress
from kernel.errors import NotReady, SuiteError, UsageError

log = logging.getLogger(__name__)
POLL = 0.1
HEARTBEAT = 0.5  # seconds: so soon do the others learn that somebody left
ANSWER = 5.0  # seconds that the cluster has for an answer
LAST_WORDS = 10.0  # seconds to hand over and to leave
KEPT = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.ms": "600000",  # what is not a closed segment is never compacted, and all that is there is read at a take-over
    "segment.bytes": "16777216",
}


@dataclass(frozen=True, slots=True)
class Instances:
    """One shard: one instance tells, the others stand by and watch all the same. More: each has its share of the groups."""

    group: str = "kafka-trial-lag-monitor"
    topic: str = "kafka-trial.lag-incidents"
    shards: int = 1
    session: float = 10.0  # seconds after which one that is silent is taken for dead
    replication: int = 3


class Holder(Protocol):
    """Who is told, in the thread that polls: as long as it works on it, the group waits."""

    def gained(self, found: Mapping[int, Mapping[str, bytes]]) -> None:
        """Shards, and what was written of each."""
        ...

    def lost(self, shards: frozenset[int], orderly: bool) -> None:
        """Orderly: they are still ours until this returns. If not, another may have them already."""
        ...

    def disturbed(self, shard: int, key: str) -> None:
        """Another wrote this although the shard is ours."""
        ...


class Lease:
    def __init__(self, address: ClusterAddress, settings: Mapping[str, Any], plan: Instances, holder: Holder) -> None:
        self._plan, self._holder = plan, holder
        self._base = {**address.librdkafka(), **settings, "log_level": 0, "reconnect.backoff.max.ms": 2_000}
        self._config = {
            **self._base,
            "group.id": plan.group,
            "session.timeout.ms": int(plan.session * 1000),
            "heartbeat.interval.ms": int(min(HEARTBEAT, plan.session / 4) * 1000),
            "max.poll.interval.ms": int(max(60.0, plan.session) * 1000),
            "partition.assignment.strategy": "cooperative-sticky",  # one that joins takes nothing from whoever has it
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 200,  # so late is it known that there is no more to read
        }
        self._producer: Any = None
        self._not_taken: list[tuple[int, str]] = []  # records that did not arrive
        self._refused = False  # and that this was told
        self._tags: dict[int, bytes] = {}  # shard → what our records of it are signed with, new each time it becomes ours
        self._reading: dict[int, dict[str, bytes]] = {}  # shards that are being taken over
        self.held: frozenset[int] = frozenset()
        self.met = False  # was in the group once, be it without a shard
        self.trouble = ""
        self._polled = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="share with other instances", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """The others take over at once, and need not wait for a session to end."""
        self._stop.set()
        self._thread.join(LAST_WORDS)

    @property
    def awake(self) -> bool:
        """False for one that has slept for so long that what it holds may be another's."""
        return _now() - self._polled <= self._plan.session

    # ---- writing -----------------------------------------------------------------------------------------------------

    def write(self, shard: int, key: str, value: bytes | None) -> None:
        from confluent_kafka import Producer

        if self._producer is None:
            # One request at a time keeps the order; a record that arrives twice does no harm where the last one counts.
            orderly = {"acks": "all", "max.in.flight": 1, "linger.ms": 0, "message.timeout.ms": int(ANSWER * 1000)}
            self._producer = Producer({**self._base, **orderly})
        self._producer.produce(
            self._plan.topic,
            key=key,
            value=value,
            partition=shard,
            headers={"by": self._tags.get(shard, b"")},
            on_delivery=self._delivered,
        )

    def flush(self, timeout: float = 2.0) -> bool:
        """Whether all that was written has arrived."""
        if self._producer is None:
            return True
        left = self._producer.flush(timeout)
        arrived = left == 0 and not self._not_taken
        if self._not_taken and not self._refused:
            log.warning("%s takes no records: nothing is told before it is written down there", self._plan.topic)
        if arrived and self._refused:
            log.info("%s takes records again", self._plan.topic)
        self._refused = not arrived and (self._refused or bool(self._not_taken))
        return arrived

    def not_taken(self) -> list[tuple[int, str]]:
        """Shards and keys, since it was last asked."""
        failed, self._not_taken = self._not_taken, []
        return failed

    def forget(self) -> None:
        """What has not left yet is not to arrive any more: it was true of a shard that is another's now."""
        if self._producer is not None:
            self._producer.purge()

    def _delivered(self, error: Any, message: Any) -> None:
        from confluent_kafka import KafkaError

        if error is not None and error.code() not in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):
            self._not_taken.append((message.partition(), message.key().decode()))

    # ---- taking part ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        from confluent_kafka import KafkaException

        while not self._stop.is_set():
            try:
                self._take_part()
            except (KafkaException, SuiteError) as trouble:
                said = trouble.args[0].str() if isinstance(trouble, KafkaException) else trouble.message
                self._tell(f"no shard can be had, and nothing is told: {said}")
            except Exception:  # a bug of ours must not leave the alerts without anybody
                log.exception("sharing with other instances ended and is begun anew")
            self._stop.wait(1)

    def _take_part(self) -> None:
        from confluent_kafka import Consumer

        self._make_topic()
        consumer = Consumer(self._config)
        orderly = False
        try:
            consumer.subscribe([self._plan.topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._dropped)
            self._polled = _now()
            while not self._stop.is_set():
                messages = consumer.consume(1_000, POLL)
                if not self.awake:
                    raise NotReady(f"this process stood still for {_now() - self._polled:.0f} s; it begins anew.")
                self._take_all(messages)
                self._polled = _now()
            orderly = True
        finally:
            self._give_up(self.held, orderly)
            self._reading.clear()
            consumer.close()

    def _make_topic(self) -> None:
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import AdminClient, NewTopic

        admin, plan = AdminClient(self._base), self._plan
        while not self._stop.is_set():
            known = admin.list_topics(timeout=ANSWER)
            there = known.topics.get(plan.topic)
            if there is not None and there.error is None:
                _check(plan, len(there.partitions))
                return
            made = admin.create_topics(
                [NewTopic(plan.topic, plan.shards, min(plan.replication, len(known.brokers)), config=KEPT)]
            )
            try:
                made[plan.topic].result(ANSWER)
            except KafkaException as trouble:
                if trouble.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
            self._stop.wait(POLL)  # until all brokers know of it; then it is looked at once more

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        from confluent_kafka import OFFSET_BEGINNING

        for one in partitions:
            one.offset = OFFSET_BEGINNING
            self._reading[one.partition] = {}
            self._tags[one.partition] = uuid.uuid4().bytes
        consumer.incremental_assign(partitions)
        self.met = True
        self._tell("")

    def _revoked(self, _: Any, partitions: list[Any]) -> None:
        self._let_go(partitions, orderly=True)

    def _dropped(self, _: Any, partitions: list[Any]) -> None:
        self._let_go(partitions, orderly=False)

    def _let_go(self, partitions: list[Any], *, orderly: bool) -> None:
        shards = frozenset(one.partition for one in partitions)
        for shard in shards:
            self._reading.pop(shard, None)
        self._give_up(shards & self.held, orderly and self.awake)
        self._polled = _now()

    def _give_up(self, shards: frozenset[int], orderly: bool) -> None:
        if shards:
            self.held -= shards
            self._holder.lost(shards, orderly)
            log.info("shards %s are %s", sorted(shards), "handed over" if orderly else "lost")

    def _take_all(self, messages: list[Any]) -> None:
        ended = [shard for shard in map(self._taken, messages) if shard is not None]
        found = {shard: self._reading.pop(shard) for shard in ended if shard in self._reading}
        if found:
            self.held |= frozenset(found)  # first: if the holder fails, they are given up with the rest
            self._holder.gained(found)
            log.info("shards %s are ours, with %d incidents", sorted(found), sum(map(len, found.values())))

    def _taken(self, message: Any) -> int | None:
        """The shard, if that was the end of it."""
        from confluent_kafka import KafkaError

        error, shard = message.error(), message.partition()
        if error is None:
            self._record(shard, message)
        elif error.code() == KafkaError._PARTITION_EOF:
            return int(shard)
        elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise NotReady(f"the topic {self._plan.topic} is gone; it is made anew.")
        else:
            self._tell(f"{self._plan.topic} cannot be read: {error.str()}")
        return None

    def _record(self, shard: int, message: Any) -> None:
        key = (message.key() or b"").decode("utf-8", "replace")
        if shard in self._reading:
            if message.value() is None:
                self._reading[shard].pop(key, None)
            else:
                self._reading[shard][key] = message.value()
        elif shard in self.held and dict(message.headers() or ()).get("by") != self._tags.get(shard):
            log.warning("another instance wrote of %s in shard %d, which is ours; it is written over", key, shard)
            self._holder.disturbed(shard, key)

    def _tell(self, trouble: str) -> None:
        if trouble and trouble != self.trouble:
            log.warning("%s", trouble)
        self.trouble = trouble


def _check(plan: Instances, partitions: int) -> None:
    if partitions != plan.shards:
        raise UsageError(
            f"the topic {plan.topic} has {partitions} partitions, and instances.shards is {plan.shards}: "
            f"set shards = {partitions}, or name another topic."
        )


def _now() -> float:
    """Also counts while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
