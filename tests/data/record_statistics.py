"""Record librdkafka's statistics of real clients: `python -m tests.data.record_statistics`.

What is not read is left out: the counts of each kind of request, and which partitions each broker has.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer

from compose.cluster import Cluster
from compose.links import Link
from compose.toxics import Latency
from kernel.waiting import wait_until

FOLDER = Path(__file__).parent / "statistics"
Told = dict[str, Any]
OFTEN = {"statistics.interval.ms": 500, "log_level": 0}


class Listener:
    def __init__(self, name: str) -> None:
        self.name = name
        self.told: list[Told] = []
        self.config = {"stats_cb": lambda text: self.told.append(json.loads(text)), "client.id": name, **OFTEN}

    def record(self, poll: Callable[[float], Any], good: Callable[[Told], bool]) -> None:
        """The first that are good."""

        def look() -> list[Told]:
            poll(0)
            return [told for told in self.told if good(told)]

        told = wait_until(look, bool, what=self.name, timeout=30)[0]
        for broker in told["brokers"].values():
            del broker["req"], broker["toppars"]
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{self.name}.json").write_text(json.dumps(told, indent=1) + "\n")


def transactional_producer(cluster: Cluster) -> None:
    listener = Listener("transactional_producer")
    producer = Producer(cluster.address.librdkafka() | listener.config | {"transactional.id": "recorded"})
    producer.init_transactions()
    producer.begin_transaction()
    for _ in range(20):
        producer.produce("orders", b"x", partition=0)
    producer.flush()
    listener.record(producer.poll, lambda told: told["txmsgs"] == 20)
    producer.abort_transaction()


def group_consumer(cluster: Cluster) -> None:
    """Some records were taken of one partition, none of the other, and the rest wait in the queue of both."""
    listener = Listener("group_consumer")
    group = {"group.id": "recorded", "auto.offset.reset": "earliest"}
    consumer = Consumer(cluster.address.librdkafka() | listener.config | group)
    consumer.subscribe(["orders"])

    def waiting(told: Told) -> bool:
        found = told["topics"].get("orders", {}).get("partitions", {})
        return sorted(found[name]["consumer_lag_stored"] >= 0 for name in ("0", "1") if name in found) == [False, True]

    listener.record(consumer.poll, waiting)
    consumer.close()


def slow_producer(cluster: Cluster) -> None:
    """Every answer takes longer than librdkafka's histogram is wide."""
    listener = Listener("slow_producer")
    producer = Producer(cluster.address.librdkafka() | listener.config | {"linger.ms": 0})
    producer.produce("orders", b"x", partition=0)
    producer.flush()
    with cluster.broken(Latency(ms=900), Link("client", cluster.leader_of("orders"))):
        producer.produce("orders", b"x", partition=0)
        listener.record(producer.poll, lambda told: any(broker["rtt"]["outofrange"] for broker in told["brokers"].values()))


def lost_producer() -> None:
    """Nobody listens where it is told to go."""
    listener = Listener("lost_producer")
    producer = Producer({"bootstrap.servers": "127.0.0.1:1,127.0.0.1:2", "message.timeout.ms": 5000} | listener.config)
    producer.produce("orders", b"x")
    listener.record(producer.poll, lambda told: any(broker["connects"] for broker in told["brokers"].values()))
    producer.purge()


def main() -> None:
    with Cluster() as cluster:
        cluster.create_topic("orders", partitions=2)
        producer = Producer(cluster.address.librdkafka() | {"log_level": 0})
        for value in range(200):
            producer.produce("orders", b"x", partition=value % 2)
        producer.flush()
        group_consumer(cluster)
        slow_producer(cluster)
        transactional_producer(cluster)
    lost_producer()


if __name__ == "__main__":
    main()
