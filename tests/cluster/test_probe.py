"""The probe before real brokers: what it says when they die, hang, forget or move, and that it says nothing else."""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from compose.cluster import Cluster
from compose.links import Link
from compose.toxics import Cut
from exporters.probe.figures import families
from exporters.probe.probe import Probe
from exporters.probe.seen import ProbePlan
from kernel.cluster import ClusterAddress
from kernel.errors import NotReady
from kernel.waiting import wait_until
from tests.cluster.daemons import TRIAL, daemon, status
from tests.promtool import linted

pytestmark = pytest.mark.punctual

QUICK = {"replica.lag.time.max.ms": "2000", "broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
# A machine that stands still for some seconds must not make anything late that is not.
CALM = {"interval": 0.1, "ack_within": 2.0, "late_after": 60.0, "place_every": 0.5}
SILENT = ("late_total", "lost_total", "duplicated_total", "out_of_order_total")
Figures = dict[tuple[str, ...], float]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3, controllers=1, config=QUICK) as cluster:
        yield cluster


def figures(probe: Probe, name: str) -> Figures:
    """By the values of its labels; of a histogram the count."""
    return {
        tuple(value for _, value in labels): value
        for family in families(probe.seen, time.monotonic())
        for suffix, labels, value in family.samples
        if family.metric.name == f"kafka_probe_{name}" and suffix in ("", "_total", "_count")
    }


def wait_for(probe: Probe, name: str, good: Callable[[Figures], bool], timeout: float = 60) -> Figures:
    return wait_until(lambda: figures(probe, name), good, what=name, timeout=timeout)


def wait_all_available(probe: Probe, *brokers: int) -> None:
    wait_for(probe, "broker_available", lambda found: found == {(str(broker),): 1.0 for broker in brokers})


def wait_for_more(probe: Probe, partition: int, count: int = 5) -> None:
    """Until more records have made their round."""
    before = probe.seen.tallies[partition].received
    wait_until(
        lambda: probe.seen.tallies[partition].received,
        lambda now: now >= before + count,
        what=f"{count} more records read back from partition {partition}",
        timeout=60,
    )


def counted(probe: Probe) -> set[tuple[str, tuple[str, ...]]]:
    """Whatever went wrong with a record."""
    return {(name, labels) for name in SILENT for labels, count in figures(probe, name).items() if count}


def end_of(consumer: Consumer, where: TopicPartition) -> int:
    try:
        return int(consumer.get_watermark_offsets(where, timeout=20)[1])
    except KafkaException as trouble:  # a leader that was elected just now does not know yet
        raise NotReady(f"{where}: {trouble.args[0].str()}.") from None


def records(address: ClusterAddress, topic: str, partition: int) -> list[tuple[str, int]]:
    """Whose they are and their numbers, as they stand in the log."""
    consumer = Consumer(address.librdkafka() | {"group.id": "reads-all", "log_level": 0})
    where = TopicPartition(topic, partition, 0)
    found: list[tuple[str, int]] = []
    try:
        end = wait_until(lambda: end_of(consumer, where), bool, what=f"the end of {topic}-{partition}", timeout=30)
        consumer.assign([where])
        while len(found) < end:
            message = consumer.poll(20)
            assert message is not None, f"{len(found)} of {end} records of {topic}-{partition}"
            assert message.error() is None
            instance, number = message.value().decode().split()
            found.append((instance, int(number)))
    finally:
        consumer.close()
    return found


# ---- as a daemon --------------------------------------------------------------------------------------------------


def test_the_daemon_waits_for_a_cluster_lives_with_it_and_ends_well(cluster: Cluster, tmp_path: Path):
    config = f'topic = "daemon"\ninterval = 0.2\nplace_every = 0.5\n[kafka]\nbootstrap = "{cluster.address.bootstrap}"\n'
    nobody = [Link("client", broker) for broker in cluster.brokers]

    with cluster.broken(Cut(), *nobody), daemon("probe", config, tmp_path, ready=False) as unlucky:
        assert status(f"{unlucky.address}/-/ready") == 503
        assert unlucky.series("kafka_probe_up") == {(): 0.0}
        assert unlucky.ends() == 0
    with daemon("probe", config, tmp_path, ready=False) as running:
        wait_until(lambda: status(f"{running.address}/-/ready"), lambda code: code == 200, what="ready", timeout=60)
        wait_until(
            lambda: running.series("kafka_probe_broker_available"),
            lambda seen: seen == {(("broker", str(broker)),): 1.0 for broker in cluster.brokers},
            what="every broker available",
            timeout=60,
        )
        wait_until(
            lambda: running.series("kafka_probe_commit_seconds_count"),
            lambda seen: seen[()] >= 1,
            what="a commit",
            timeout=60,
        )
        assert running.series("kafka_probe_up") == {(): 1.0}
        assert linted(running.page()) == ""
        assert running.ends() == 0
    for said in (unlucky.said.read_text(), running.said.read_text()):
        assert "Traceback" not in said


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("intervall = 1", "the key intervall is not known: choose one of listen, tls, login, kafka, topic, interval, "),
        ("interval = 0", "interval = 0: input should be greater than 0."),
        (
            "kafka.settings = { 'no.such' = 1 }",
            'librdkafka does not take these settings: No such configuration property: "no',
        ),
    ],
)
def test_what_cannot_be_used_is_one_sentence(tmp_path: Path, line: str, sentence: str):
    file = tmp_path / "probe.toml"
    file.write_text(f"{line}\nkafka.bootstrap = '127.0.0.1:9092'\n")

    refused = subprocess.run([TRIAL, "probe", "--config", file], capture_output=True, text=True, check=False, timeout=60)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert sentence in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


# ---- availability -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["killed", "hanging"])
def test_a_broker_that_is_gone_is_named_and_only_that_one(cluster: Cluster, how: str):
    harm, heal = (cluster.kill, cluster.start) if how == "killed" else (cluster.pause, cluster.resume)

    attentive = {"topic.metadata.refresh.interval.ms": 500}  # or the test would take as long as a client to notice

    with Probe(cluster.address, ProbePlan(topic=how, **CALM), attentive) as probe:
        wait_all_available(probe, 1, 2, 3)
        harm(2)
        try:
            wait_for(probe, "misplaced_partitions", lambda found: found == {(): 1.0})
            wait_for(probe, "broker_available", lambda found: found == {("1",): 1.0, ("2",): 0.0, ("3",): 1.0})
            wait_for(probe, "partition_available", lambda found: set(found.values()) == {1.0})
            assert figures(probe, "partitions") == {(): 3.0}, "it keeps its partition"
        finally:
            heal(2)
        wait_all_available(probe, 1, 2, 3)
        wait_for_more(probe, 1)
        assert counted(probe) == set()
        assert figures(probe, "up") == {(): 1.0}
        assert figures(probe, "roundtrip_seconds").keys() == {("1",), ("2",), ("3",)}
    cluster.wait_replicated()


# ---- late, lost, twice, out of order ------------------------------------------------------------------------------


def test_a_late_record_is_late_and_not_lost_and_still_comes(cluster: Cluster):
    """The broker is asked to hold answers back until there is more than a probe ever sends, or three seconds are over."""
    slow = {"fetch.min.bytes": 100_000, "fetch.wait.max.ms": 3_000}

    with Probe(cluster.address, ProbePlan(topic="late", **(CALM | {"late_after": 0.5})), slow) as probe:
        wait_for(probe, "late_total", lambda found: len(found) == 3 and all(found.values()))
        received = {partition: tally.acknowledged for partition, tally in probe.seen.tallies.items()}
        wait_until(
            lambda: {partition: tally.received for partition, tally in probe.seen.tallies.items()},
            lambda now: all(now[partition] >= count for partition, count in received.items()),
            what="all of them read back",
            timeout=60,
        )
        assert set(figures(probe, "lost_total").values()) == {0.0}
        assert set(figures(probe, "partition_available").values()) == {1.0}, "writing is as good as ever"


def test_a_second_copy_and_a_number_from_the_future_are_told_of_their_partition_alone(cluster: Cluster):
    with Probe(cluster.address, ProbePlan(topic="twice", **CALM)) as probe:
        wait_all_available(probe, 1, 2, 3)
        for partition in range(3):
            wait_for_more(probe, partition)
        assert counted(probe) == set()
        [(instance, number), *_] = records(cluster.address, "twice", 0)
        forger = Producer(cluster.address.librdkafka())
        forger.produce("twice", f"{instance} {number}", partition=0)
        forger.produce("twice", f"{instance} 1000000", partition=1)
        forger.flush(30)

        wait_for(probe, "duplicated_total", lambda found: found == {("1", "0"): 1.0, ("2", "1"): 0.0, ("3", "2"): 0.0})
        wait_for(probe, "out_of_order_total", lambda found: found["2", "1"] > 3)
        assert {labels for _, labels in counted(probe)} == {("1", "0"), ("2", "1")}
        assert set(figures(probe, "lost_total").values()) == {0.0}


def test_exactly_what_an_unclean_election_loses_is_lost(cluster: Cluster):
    """Broker 1 alone has the newest records of partition 0, read or not; then it goes, and broker 2 leads without them."""
    config = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    cluster.create_topic("lost", assignment=[[1, 2], [2, 3], [3, 1]], config=config)

    with Probe(cluster.address, ProbePlan(topic="lost", replication=2, **CALM)) as probe:
        wait_all_available(probe, 1, 2, 3)
        cluster.stop(2)
        wait_until(lambda: cluster.isr_of("lost"), lambda isr: isr == {1}, what="broker 1 alone", timeout=60)
        wait_for_more(probe, 0, 10)
        cluster.stop(1)
        promised = probe.seen.tallies[0].acknowledged  # by now, and in the order of their numbers
        cluster.start(2)
        wait_until(lambda: cluster.leader_of("lost"), lambda leader: leader == 2, what="an unclean leader", timeout=60)
        cluster.start(1)
        wait_all_available(probe, 1, 2, 3)
        wait_until(lambda: probe.seen.positions[0], lambda at: at > promised, what="a log as long as it was", timeout=60)

        there = {number for _, number in records(cluster.address, "lost", 0)}
        gone = set(range(promised)) - there
        assert len(gone) >= 10
        assert figures(probe, "lost_total") == {("1", "0"): len(gone), ("2", "1"): 0.0, ("3", "2"): 0.0}
        assert {name for name, _ in counted(probe)} == {"lost_total"}
        assert figures(probe, "restarts_total")[()] > 0, "the producer had failed for good"
    cluster.wait_replicated()


# ---- placement ----------------------------------------------------------------------------------------------------


def test_every_broker_has_a_partition_as_brokers_come_and_go(cluster: Cluster):
    """Last of all, for the cluster has one broker more from here on."""
    cluster.create_topic("places", assignment=[[3]])
    plan = ProbePlan(topic="places", **(CALM | {"gone_after": 1.0}))

    def led() -> list[int | None]:
        states = sorted(cluster.view.partitions("places"), key=lambda state: state.partition)
        return [state.leader if state.leader == state.replicas[0] and state.fully_replicated else None for state in states]

    def wait_led(*by: int, partitions: int) -> None:
        wait_until(led, lambda found: len(found) == partitions and set(found) == set(by), what="placed", timeout=60)

    with Probe(cluster.address, plan) as probe:
        wait_led(1, 2, 3, partitions=3)
        assert {len(state.replicas) for state in cluster.view.partitions("places")} == {3}
        new = cluster.add_broker()
        wait_led(1, 2, 3, new, partitions=4)
        wait_all_available(probe, 1, 2, 3, new)
        cluster.kill(new)
        wait_led(1, 2, 3, partitions=4)
        wait_all_available(probe, 1, 2, 3)
        assert counted(probe) == set()

        cluster.delete_topics("places")
        wait_led(1, 2, 3, partitions=3)
        wait_all_available(probe, 1, 2, 3)
        for partition in range(3):
            wait_for_more(probe, partition)
        assert counted(probe) == set()
