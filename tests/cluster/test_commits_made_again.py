"""A coordinator that has just moved refuses commits until it has read its part of `__consumer_offsets`.

librdkafka asks it twice more and then tells the application, after a third of a second; whoever does not commit again
stays short of what was read on every partition that gets no more records.
"""

import time
from pathlib import Path

from confluent_kafka import Producer

from chaos.evidence.account import Account
from chaos.evidence.folder import RunFolder
from chaos.scenarios.unnoticed import committed_again
from chaos.traffic.plans import ConsumerPlan, DrainPlan, ProducerPlan
from chaos.traffic.traffic import Traffic
from compose.cluster import Cluster
from compose.coordinators import partition_of
from kernel.waiting import wait_until
from tests.pure.lag_wire import commit_key, commit_value

GROUP = "trial"
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
OFFSETS = "__consumer_offsets"
COMMITS = 300_000  # of as many other groups: read for seven seconds on two cores
SOON_BACK = {"reconnect.backoff.max.ms": 250}  # a slow start would else cost ten seconds, and the loading be over


def test_what_a_loading_coordinator_refused_is_committed_once_it_has_loaded(tmp_path: Path):
    folder = RunFolder.create(tmp_path, day="day", scenario="traffic", run_id="loading")
    folder.events_file.touch()
    topics = {"orders": 2}

    with (
        Cluster(brokers=1, provider="processes") as cluster,
        Traffic(folder, "loading", cluster.address.librdkafka()) as traffic,
    ):
        cluster.create_topic("orders", partitions=2, replication=1)
        traffic.start("producer", ProducerPlan(topics=topics, rate=50))
        reader = traffic.start("reader", ConsumerPlan(topics=topics, group=GROUP, config=SOON_BACK))
        wait_until(
            lambda: reader.status.get("committed", {}), lambda known: len(known) == 2, what="both committed", timeout=60
        )
        reader.order("pause")
        wait_until(lambda: reader.status["paused"], bool, what="paused", timeout=30)
        before = sum(traffic.acked().values())
        wait_until(lambda: sum(traffic.acked().values()), lambda now: now >= before + 20, what="records unread", timeout=60)
        traffic.stop_producers()
        acked = {f"{topic}-{partition}": count for (topic, partition), count in traffic.acked().items()}
        fill(cluster)
        cluster.stop(1)
        reader.order("resume")  # it reads the last ones as soon as there is a leader, while the coordinator still loads
        cluster.start(1)
        wait_until(lambda: dict(reader.status["errors"]), lambda told: LOADING in told, what=f"told {LOADING}", timeout=60)
        wait_until(lambda: reader.status["committed"], lambda known: known == acked, what=f"{acked} committed", timeout=90)
        traffic.stop_consumers()
        traffic.drain(DrainPlan(topics=topics), cluster.direct_address.librdkafka())
        traffic.seal()

    account = Account.of(folder)
    refused = {f"{one.topic}-{one.partition}": one.offset for one in account.refused if one.error == LOADING}
    assert refused == acked, "the last of each partition was refused at first, with nothing behind it"
    assert committed_again(account) == {LOADING}
    assert {read.value for read in account.reads} == account.acked


def fill(cluster: Cluster) -> None:
    """Commits of groups that never were; brokers let nobody write them but a client of this name."""
    settings = {"client.id": "__admin_client", "linger.ms": 50, "queue.buffering.max.messages": COMMITS, "log_level": 0}
    producer = Producer(cluster.address.librdkafka() | settings)
    value = commit_value(5, int(time.time() * 1000))
    partitions = len(producer.list_topics(OFFSETS, timeout=10).topics[OFFSETS].partitions)
    for number in range(COMMITS):
        producer.produce(OFFSETS, value, commit_key(f"g{number}"), partition=partition_of(GROUP, partitions))
    assert producer.flush(60) == 0
