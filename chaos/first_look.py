"""The first thing a newcomer sees: the leader is killed under traffic, and every record is accounted for.

A producer sends to three partitions at a steady pace (acks=all) while the leader of one of them is killed. Afterwards
everything is read back from the beginning, and the acknowledged records are compared with what was read.
"""

import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from kernel.cluster import ClusterAddress, PartitionState
from kernel.waiting import wait_until

TOPIC, PARTITIONS = "orders", 3
RATE = 500  # records a second


class CanBeKilled(Protocol):
    """What this needs of a cluster."""

    @property
    def address(self) -> ClusterAddress: ...
    def create_topic(self, topic: str, *, partitions: int, config: Mapping[str, str]) -> None: ...
    def partition(self, topic: str, partition: int) -> PartitionState: ...
    def leader_of(self, topic: str, partition: int) -> int: ...
    def kill(self, broker: int) -> None: ...
    def start(self, broker: int) -> None: ...
    def wait_replicated(self, *topics: str) -> list[PartitionState]: ...


@dataclass(frozen=True, slots=True)
class Account:
    """What was promised, what was found, and how long each partition was without an acknowledgement."""

    acknowledged: int
    read: int
    lost: frozenset[int]
    killed: int
    new_leader: int
    elected_after: float  # seconds from the kill until the metadata named a new leader
    longest_gap: dict[int, float]  # seconds, by partition


def account(
    acks: Mapping[int, list[tuple[float, int]]],
    read: Iterable[int],
    *,
    killed: int,
    new_leader: int,
    elected_after: float,
) -> Account:
    """`acks` holds, per partition, when each value was acknowledged. Pure, so that it can be shown to find a loss."""
    promised = {value for times in acks.values() for _, value in times}
    found = set(read)
    gaps = {
        partition: max((later - earlier for (earlier, _), (later, _) in itertools.pairwise(sorted(times))), default=0.0)
        for partition, times in sorted(acks.items())
    }
    return Account(len(promised), len(found), frozenset(promised - found), killed, new_leader, elected_after, gaps)


def kill_the_leader(cluster: CanBeKilled, say: Callable[[str], None], *, seconds: float = 3.0) -> Account:
    """`seconds` of quiet traffic before the kill and after the recovery."""
    cluster.create_topic(TOPIC, partitions=PARTITIONS, config={"min.insync.replicas": "2"})
    with _SteadyProducer(cluster.address) as producer:
        say(f"sending {RATE} records a second to {PARTITIONS} partitions, acks=all")
        producer.wait_for_acks(int(RATE * seconds))
        victim = cluster.leader_of(TOPIC, 0)
        say(f"killing broker {victim}, the leader of {TOPIC}-0 (SIGKILL)")
        cluster.kill(victim)
        killed_at = time.monotonic()
        elected = wait_until(
            lambda: cluster.partition(TOPIC, 0).leader,
            lambda now: now not in (None, victim),
            what="a new leader",
            timeout=90,
        )
        elected_after = time.monotonic() - killed_at
        say(f"broker {elected} leads {TOPIC}-0 now; sending on")
        producer.wait_for_acks(int(RATE * seconds))
    say(f"starting broker {victim} again")
    cluster.start(victim)
    cluster.wait_replicated(TOPIC)
    say("reading everything back from the beginning")
    return account(
        producer.acks,
        _read_all(cluster.address),
        killed=victim,
        new_leader=elected or 0,
        elected_after=elected_after,
    )


class _SteadyProducer:
    """Sends a new value every 1/RATE seconds from a thread of its own, whatever becomes of the earlier ones."""

    def __init__(self, address: ClusterAddress) -> None:
        from confluent_kafka import Producer

        self.acks: dict[int, list[tuple[float, int]]] = defaultdict(list)
        self._producer = Producer(address.librdkafka() | {"acks": "all", "linger.ms": 50, "log_level": 0})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)

    def __enter__(self) -> "_SteadyProducer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._producer.flush(60)

    def wait_for_acks(self, more: int) -> None:
        goal = {partition: len(self.acks[partition]) + more // PARTITIONS for partition in range(PARTITIONS)}
        wait_until(
            lambda: {partition: len(self.acks[partition]) for partition in goal},
            lambda counts: all(counts[partition] >= goal[partition] for partition in goal),
            what=f"{more} more acknowledgements, spread over {PARTITIONS} partitions",
            timeout=90,
        )

    def _send(self) -> None:
        began = time.monotonic()
        for value in itertools.count():
            if self._stop.wait(max(0.0, began + value / RATE - time.monotonic())):
                return
            self._producer.produce(TOPIC, str(value), partition=value % PARTITIONS, on_delivery=self._delivered)
            self._producer.poll(0)

    def _delivered(self, error: object, message: object) -> None:
        if error is None:
            self.acks[message.partition()].append((time.monotonic(), int(message.value())))  # type: ignore[attr-defined]


def _read_all(address: ClusterAddress) -> list[int]:
    from confluent_kafka import Consumer, TopicPartition

    settings = {"group.id": "first-look", "enable.partition.eof": True, "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer(address.librdkafka() | settings)
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    values: list[int] = []
    ended: set[int] = set()
    try:
        while len(ended) < PARTITIONS:
            for message in consumer.consume(1000, timeout=1):
                if message.error() is None:
                    values.append(int(message.value()))
                elif message.error().name() == "_PARTITION_EOF":
                    ended.add(message.partition())
    finally:
        consumer.close()
    return values
