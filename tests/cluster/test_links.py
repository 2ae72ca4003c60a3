"""Every fault on a link, seen to bite and seen to heal, on real brokers and a real Toxiproxy."""

import socket
import struct
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer as RawConsumer
from confluent_kafka import Producer, TopicPartition

from compose.cluster import Cluster
from compose.links import Link
from compose.toxics import Bandwidth, Blackhole, Cut, Latency, LimitData, Reset, Slicer, SlowClose
from kernel.cluster import ClusterAddress
from kernel.waiting import wait_until
from tests.cluster.providers import PROVIDERS
from tests.cluster.traffic import read, send

pytestmark = pytest.mark.punctual

QUICK = {"replica.lag.time.max.ms": "2000", "broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
LEADER = Link("client", 1)


@pytest.fixture(scope="module", params=PROVIDERS)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(provider=request.param, config=QUICK) as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A topic with one copy, on broker 1: one client link decides everything."""
    name = request.node.originalname
    while True:
        cluster.create_topic(name, replication=1, config={"message.timestamp.type": "LogAppendTime"})
        if cluster.leader_of(name) == 1:
            break
        name += "x"
    yield name
    assert all(cluster.links.faults_on(link) == [] for link in cluster.links.servers), "a fault outlived its block"


def end_offset(cluster: Cluster, topic: str) -> int:
    """The end of the log as the observer sees it, over no proxied link."""
    consumer = RawConsumer(cluster.direct_address.librdkafka() | {"group.id": "end", "log_level": 0})
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1]
    finally:
        consumer.close()


class Timed:
    """A connected producer, so that what is measured is one request and its answer."""

    def __init__(self, address: ClusterAddress, topic: str) -> None:
        self.topic = topic
        self.producer = Producer(address.librdkafka() | {"linger.ms": 0, "log_level": 0})
        self.send()

    def send(self, value: bytes = b"x") -> tuple[float, float]:
        """Seconds until the broker appended the record, and until its acknowledgement was here."""
        seen = []
        began = time.time()
        self.producer.produce(
            self.topic,
            value,
            partition=0,
            on_delivery=lambda error, message: seen.append((error, message.timestamp()[1] / 1000, time.time())),
        )
        self.producer.flush(60)
        error, appended, acknowledged = seen[0]
        assert error is None
        return appended - began, acknowledged - began


def test_cutting_only_replication_drops_a_broker_from_the_isr_while_its_heartbeats_go_on(cluster: Cluster):
    cluster.create_topic("replicated", partitions=3)
    cut = [Link(3, 1, "replication"), Link(3, 2, "replication")]

    with cluster.broken(Cut(), *cut):
        # A follower that has everything is never out of sync, however long it was silent: give it something to miss.
        for state in cluster.view.partitions("replicated"):
            send(cluster.address, "replicated", ["missed"], partition=state.partition, acks=1)
        behind = wait_until(
            lambda: [state for state in cluster.view.partitions("replicated") if state.leader != 3],
            lambda states: all(3 not in state.isr for state in states),
            what="broker 3 out of the ISR",
            timeout=30,
        )
        assert len(behind) == 2
        alive = [cluster.view.brokers() for _ in range(10) if not time.sleep(0.5)]  # longer than the session timeout
        assert all(brokers == {1, 2, 3} for brokers in alive), "broker 3 was fenced: its heartbeats did not get through"

    cluster.wait_replicated("replicated")


def test_latency_delays_one_direction_alone(cluster: Cluster, topic: str):
    timed = Timed(cluster.address, topic)

    with cluster.broken(Latency(ms=1500, direction="upstream"), LEADER):
        appended, acknowledged = timed.send()
        assert appended >= 1.4, "the request was not delayed on its way in"
    with cluster.broken(Latency(ms=1500, direction="downstream"), LEADER):
        appended, acknowledged = timed.send()
        assert appended < 1.0, "the request was delayed on its way in"
        assert acknowledged >= 1.4, "the answer was not delayed on its way out"

    assert timed.send()[1] < 1.0


def test_a_blackhole_on_requests_keeps_records_out(cluster: Cluster, topic: str):
    send(cluster.address, topic, ["first"])

    with cluster.broken(Blackhole(direction="upstream"), LEADER):
        assert send(cluster.address, topic, ["swallowed"], **{"message.timeout.ms": 2000}) == []
        assert end_offset(cluster, topic) == 1

    assert send(cluster.address, topic, ["second"]) == ["second"]


def test_a_limit_on_answers_applies_the_request_and_loses_its_acknowledgement(cluster: Cluster, topic: str):
    lost, before = [], end_offset(cluster, topic)
    producer = Producer(
        cluster.address.librdkafka() | {"linger.ms": 0, "retries": 0, "message.timeout.ms": 3000, "log_level": 0}
    )
    producer.produce(topic, b"connects", partition=0)
    producer.flush(30)

    with cluster.broken(LimitData(bytes=1), LEADER):
        producer.produce(topic, b"applied", partition=0, on_delivery=lambda error, _: lost.append(error))
        producer.flush(30)
        assert lost[0] is not None, "the acknowledgement came through"

    assert end_offset(cluster, topic) == before + 2
    assert read(cluster.address, topic, 2) == ["connects", "applied"]


def test_bandwidth_limits_how_fast_a_large_record_goes_in(cluster: Cluster, topic: str):
    timed = Timed(cluster.address, topic)

    with cluster.broken(Bandwidth(kbytes=100, direction="upstream"), LEADER):
        appended, _ = timed.send(b"x" * 300_000)

    assert appended >= 2.0


def test_reset_ends_connections_that_speak(cluster: Cluster, topic: str):
    with cluster.broken(Reset(direction="upstream"), LEADER):
        assert send(cluster.address, topic, ["reset"], **{"message.timeout.ms": 2000}) == []
        with raw_connection(cluster) as plug:
            plug.sendall(api_versions())
            assert hung_up(plug)

    assert send(cluster.address, topic, ["fine"]) == ["fine"]


def test_slow_close_keeps_the_connection_half_open(cluster: Cluster, topic: str):
    def seconds_until_closed() -> float:
        with raw_connection(cluster) as plug:
            began = time.monotonic()
            plug.sendall(struct.pack(">i", -1))  # no frame can be that long: the broker hangs up
            while plug.recv(1000):
                pass
            return time.monotonic() - began

    with cluster.broken(SlowClose(ms=2000), LEADER):
        assert seconds_until_closed() >= 1.9

    assert seconds_until_closed() < 1.9


def test_a_slicer_hands_answers_over_in_pieces(cluster: Cluster, topic: str):
    def pieces() -> int:
        with raw_connection(cluster) as plug:
            plug.sendall(api_versions())
            (length,) = struct.unpack(">i", receive(plug, 4))
            sizes: list[int] = []
            while sum(sizes) < length:
                sizes.append(len(plug.recv(length)))
            return len(sizes)

    with cluster.broken(Slicer(size=20, delay_us=10_000), LEADER):
        assert pieces() >= 10  # of some 30: a busy machine may hand over two or three at once

    assert pieces() < 10


def test_overlapping_cuts_do_not_heal_each_other(cluster: Cluster, topic: str):
    with cluster.broken(Cut(), LEADER):
        with cluster.broken(Cut(), LEADER, Link("client", 2)):
            pass
        assert cluster.links.faults_on(LEADER) == ["cut"]
        assert cluster.links.faults_on(Link("client", 2)) == []


def test_a_fault_heals_when_the_block_fails(cluster: Cluster, topic: str):
    with pytest.raises(ZeroDivisionError), cluster.broken(Latency(ms=5), LEADER):
        assert cluster.links.faults_on(LEADER) == ["latency downstream"]
        raise ZeroDivisionError

    assert cluster.links.faults_on(LEADER) == []


def raw_connection(cluster: Cluster) -> socket.socket:
    host, port = cluster.address.bootstrap.split(",")[0].split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def hung_up(plug: socket.socket) -> bool:
    try:
        return plug.recv(100) == b""  # Docker's own proxy, before a container, turns the reset into an end of file
    except ConnectionResetError:
        return True


def receive(plug: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += plug.recv(count - len(data))
    return data


def api_versions() -> bytes:
    """An ApiVersions request, version 0: the shortest thing a broker answers at length."""
    body = struct.pack(">hhih", 18, 0, 1, 4) + b"test"
    return struct.pack(">i", len(body)) + body
