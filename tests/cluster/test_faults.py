"""Every fault let loose on real brokers: it bites and heals, and one that did nothing is noticed."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.faults import dial
from chaos.faults.bridge import Bridge
from chaos.faults.catalogue import FAULTS, from_json, resolved, to_json
from chaos.faults.drop_client_connection import DropClientConnection
from chaos.faults.freeze_client import FreezeClient
from chaos.faults.isolate import Isolate
from chaos.faults.kill_broker import KillBroker
from chaos.faults.kill_client import KillClient
from chaos.faults.link_fault import LinkFault
from chaos.faults.lose_tail import LoseTail
from chaos.faults.one_way import OneWay
from chaos.faults.pause_broker import PauseBroker
from chaos.faults.restart_broker import RestartBroker
from chaos.faults.ring import Ring
from chaos.faults.split import Split
from chaos.faults.stop_broker import StopBroker
from chaos.faults.stop_client import StopClient
from compose.cluster import Cluster
from compose.links import Link
from compose.toxics import Bandwidth, Blackhole, Cut, Latency, LimitData, Reset, Slicer
from kernel.errors import NotReady
from kernel.waiting import wait_until
from tests.cluster.test_frames import REQUESTS
from tests.cluster.traffic import send

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.kafka(brokers=3, config={"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}),
]
TOPIC, PARTITIONS = "canary", 3
SOME = (Link("client", 2), Link(1, 2, "replication"), Link(3, 2, "controller"))
REFUSED = r"a call is refused$"
UNANSWERED = r"no answer in \d\.\d s, while past the proxy there is one$"
SLOW = r": (\d|1\d|2[0-4]) kB/s measured, past the proxy \d{2,} kB/s$"
CUT_OFF = r"the connection ends after \d+ bytes of answer, while past the proxy it goes on$"

# Each fault on the cluster, with what its probe should have seen (links with the same figure are told in one breath).
FACTS: list[tuple[Any, str]] = [
    (KillBroker(2), r"^the process of broker 2 is gone, a call to it is refused$"),
    (StopBroker(2), r"^the process of broker 2 is gone, a call to it is refused$"),
    (PauseBroker(2), r"^broker 2 takes a call and does not answer for \d\.\d s, though its process is there$"),
    (RestartBroker(2), r"^broker 2 is in life (\d+) by its log, before it was \d+$"),
    (RestartBroker(2, hard=True), r"^broker 2 is in life (\d+) by its log, before it was \d+$"),
    (LinkFault(SOME, Cut()), REFUSED),
    (LinkFault(SOME, Blackhole(direction="upstream")), UNANSWERED),
    (LinkFault(SOME, Latency(ms=300)), r"^([^;]+: an answer takes \d{3,} ms, past the proxy \d+ ms(; |$))+$"),
    (LinkFault(SOME, Latency(ms=40, jitter=30)), r"an answer takes \d+ ms, past the proxy \d+ ms"),
    (LinkFault(SOME[:1], Bandwidth(kbytes=20)), SLOW),
    (LinkFault(SOME[:1], Bandwidth(kbytes=20, direction="upstream")), SLOW),
    (LinkFault(SOME, Reset()), r"a call is reset after \d+ ms, while past the proxy it is answered"),
    (LinkFault(SOME, Slicer(size=20, delay_us=2000)), r"an answer comes in \d\d pieces, mostly of \d\d bytes"),
    (LinkFault(SOME, Slicer(size=20, delay_us=2000, direction="upstream")), r"a long request takes \d+\.\d+ s in its"),
    (LinkFault(SOME, LimitData(bytes=1000)), CUT_OFF),
    (LinkFault(SOME, LimitData(bytes=50_000, direction="upstream")), CUT_OFF),
    (Isolate(2), r"^client → 2 \(client\), 1 → 2 \(replication\), .*and 6 more: " + REFUSED),
    (Isolate(2, clients=False, silent=True), r"^1 → 2 \(replication\).*: " + UNANSWERED),
    (Split((1,)), REFUSED),
    (Ring((1, 2, 3)), r"^1 → 3 \(replication\), .*and 3 more: " + REFUSED),
    (Bridge(2), r"^1 → 3 \(replication\), .*and 1 more: " + REFUSED),
    (OneWay(1, 2), r"^1 → 2 \(replication\), 1 → 2 \(controller\): " + REFUSED),
]  # fmt: skip
CLUSTER_FAULTS = [pytest.param(fault, seen, id=f"{fault.kind}-{number}") for number, (fault, seen) in enumerate(FACTS)]


class Unharmed:
    """A cluster, or its traffic, to which nothing is done, whatever is ordered; looked at, it is the real one."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def kill(self, *_: object) -> None: ...

    stop = pause = resume = start = close = kill

    def restart(self, broker: int, *, hard: bool = False) -> None: ...

    def broken(self, *_: object) -> nullcontext[None]:
        return nullcontext()


class Clients:
    """One producer in a process of its own."""

    def __init__(self, cluster: Cluster) -> None:
        code = (
            "import sys, time; from confluent_kafka import Producer\n"
            "producer = Producer({'bootstrap.servers': sys.argv[1], 'log_level': 0})\n"
            f"while True: producer.produce({TOPIC!r}, b'from a client'); producer.poll(0); time.sleep(0.01)"
        )
        self.process = subprocess.Popen([sys.executable, "-c", code, cluster.address.bootstrap])

    def pid(self, name: str) -> int | None:
        return self.process.pid

    def kill(self, name: str) -> None:
        self.process.kill()

    def close(self, name: str) -> None:
        self.process.terminate()

    def pause(self, name: str) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        self.process.send_signal(signal.SIGCONT)


@pytest.fixture
def cluster(kafka_cluster: Cluster) -> Cluster:
    kafka_cluster.create_topic(TOPIC, partitions=PARTITIONS)
    return kafka_cluster


@pytest.fixture
def traffic(cluster: Cluster) -> Iterator[Clients]:
    clients = Clients(cluster)
    yield clients
    clients.process.kill()
    clients.process.wait(10)


@contextmanager
def impatient() -> Iterator[None]:
    """What is not there need not be waited for as long as what is on its way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dial, "PATIENCE_S", 0.3)
        yield


def assert_works(cluster: Cluster) -> None:
    cluster.wait_replicated(TOPIC, partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        assert send(cluster.address, TOPIC, ["canary"], partition=partition) == ["canary"]
    assert all(cluster.links.faults_on(link) == [] for link in cluster.links.servers), "a fault outlived its block"


@pytest.mark.parametrize(("fault", "seen"), CLUSTER_FAULTS)
def test_a_fault_bites_and_heals(cluster: Cluster, fault: Any, seen: str):
    arena = SimpleNamespace(cluster=cluster, traffic=None)

    with fault.applied(arena):
        assert re.search(seen, fault.bite(arena))

    assert_works(cluster)
    with impatient(), pytest.raises(NotReady):
        from_json(to_json(fault)).bite(arena)


@pytest.mark.parametrize(("fault", "seen"), CLUSTER_FAULTS)
def test_a_fault_that_did_nothing_is_noticed(cluster: Cluster, fault: Any, seen: str):
    arena = SimpleNamespace(cluster=Unharmed(cluster), traffic=None)

    with impatient(), fault.applied(arena), pytest.raises(NotReady):
        fault.bite(arena)


def test_one_link_left_whole_is_noticed(cluster: Cluster):
    arena = SimpleNamespace(cluster=cluster, traffic=None)

    with (
        LinkFault(SOME[:2], Cut()).applied(arena),
        impatient(),
        pytest.raises(NotReady, match=r"cut seen on link 3 → 2 \(con"),
    ):
        LinkFault(SOME, Cut()).bite(arena)


def test_a_slow_link_is_not_seen_behind_a_broker_that_is_down(cluster: Cluster):
    arena = SimpleNamespace(cluster=cluster, traffic=None)
    blackhole = LinkFault((Link("client", 2),), Blackhole())

    with PauseBroker(2).applied(arena), blackhole.applied(arena), impatient(), pytest.raises(NotReady, match="silent too"):
        blackhole.bite(arena)


def test_an_isolated_broker_is_fenced_though_its_clients_still_reach_it_and_comes_back(cluster: Cluster):
    arena, fault = SimpleNamespace(cluster=cluster, traffic=None), Isolate(2, clients=False)

    with fault.applied(arena):
        wait_until(cluster.view.brokers, lambda alive: alive == {1, 3}, what="broker 2 is fenced", timeout=30)
        here, _ = cluster.links.addresses_of(Link("client", 2))
        assert dial.call(here, secure=False, patience=5).how == "answered"

    wait_until(cluster.view.brokers, lambda alive: alive == {1, 2, 3}, what="broker 2 is back", timeout=30)


def test_roles_are_resolved_on_the_cluster_as_it_is(cluster: Cluster):
    leader = cluster.leader_of(TOPIC, 1)

    assert from_json(resolved({"fault": "kill-broker", "node": f"leader-of {TOPIC}-1"}, cluster)) == KillBroker(leader)
    assert from_json(resolved({"fault": "pause-broker", "node": f"follower-of {TOPIC}-1"}, cluster)).node != leader
    assert from_json(resolved({"fault": "isolate", "node": "controller"}, cluster)) == Isolate(cluster.view.quorum().leader)


@pytest.mark.parametrize(("fault", "by"), [(KillClient, signal.SIGKILL), (StopClient, signal.SIGTERM)])
def test_ending_a_client_is_seen(cluster: Cluster, traffic: Clients, fault: Any, by: signal.Signals):
    arena, unharmed = (SimpleNamespace(cluster=cluster, traffic=each) for each in (traffic, Unharmed(traffic)))

    ending = fault("producer")
    with impatient(), pytest.raises(NotReady, match="the process of producer is gone: not so"), ending.applied(unharmed):
        ending.bite(unharmed)
    with ending.applied(arena):
        assert ending.bite(arena).startswith(f"process {traffic.process.pid} of producer is gone")

    assert traffic.process.wait(10) == -by


def test_freezing_a_client_is_seen_and_it_thaws(cluster: Cluster, traffic: Clients):
    arena, fault = SimpleNamespace(cluster=cluster, traffic=traffic), FreezeClient("producer")

    with impatient(), pytest.raises(NotReady), fault.applied(SimpleNamespace(traffic=Unharmed(traffic))):
        fault.bite(arena)
    with fault.applied(arena):
        assert fault.bite(arena) == f"process {traffic.process.pid} of producer is stopped (state T)"

    with impatient(), pytest.raises(NotReady):
        fault.bite(arena)


def test_dropping_a_clients_connections_is_seen_and_it_connects_again(cluster: Cluster, traffic: Clients):
    arena, fault = SimpleNamespace(cluster=cluster, traffic=traffic), DropClientConnection("producer")

    with fault.applied(SimpleNamespace(cluster=Unharmed(cluster), traffic=traffic)), impatient(), pytest.raises(NotReady):
        fault.bite(arena)
    with fault.applied(arena):
        assert re.match(r"[1-6] connections of producer are gone, and our own beside them$", fault.bite(arena))
    again = DropClientConnection("producer")
    with impatient(), pytest.raises(NotReady, match="the fault was not applied"):
        again.bite(arena)

    with again.applied(arena):  # which needs connections to drop
        again.bite(arena)
    assert_works(cluster)


def test_losing_the_end_of_a_log_is_seen_and_it_comes_back_from_the_others(cluster: Cluster):
    arena = SimpleNamespace(cluster=cluster, traffic=None)
    send(cluster.address, TOPIC, ["kept", "lost"], partition=0)
    cluster.wait_replicated(TOPIC, partitions=PARTITIONS)
    end = cluster.log_ends(TOPIC)[TOPIC, 0]
    fault = LoseTail(2, TOPIC, 0, offset=end - 1)

    with impatient(), fault.applied(SimpleNamespace(cluster=Unharmed(cluster), traffic=None)), pytest.raises(NotReady):
        fault.bite(arena)
    with fault.applied(arena):
        assert re.search(r"is gone.*; 0+\.log had \d+ bytes and has \d+, its last batch ends at offset", fault.bite(arena))

    assert_works(cluster)
    assert cluster.log_ends(TOPIC)[TOPIC, 0] == end + 1, "nothing is lost, and the canary is there"


def test_every_fault_is_let_loose_here():
    alone = {fault.kind for fault in (StopClient, KillClient, FreezeClient, DropClientConnection, LoseTail)}
    requests = {fault.kind for fault, _ in REQUESTS}  # in test_frames.py
    machines = {"fill-disk", "fail-disk", "stall-disk", "damage-segment", "set-clock"}  # in test_machines.py

    assert {fault.kind for fault, _ in FACTS} | alone | requests | machines == set(FAULTS)


@pytest.mark.kafka(brokers=1, controllers=1, security="tls")
def test_probes_see_through_tls_and_see_a_controller_of_its_own(kafka_cluster: Cluster):
    arena = SimpleNamespace(cluster=kafka_cluster, traffic=None)
    links = (Link("client", 1), Link(1, 101, "controller"))

    def sees(fault: Any) -> str:
        with impatient(), pytest.raises(NotReady):
            fault.bite(arena)
        with fault.applied(arena):
            return str(fault.bite(arena))

    late = r"an answer takes \d{3,} ms"  # of each, or of both at once if they happen to take the same
    assert re.search(rf"({late}.*){{2}}|client → 1 .*, 1 → 101 .*: {late}", sees(LinkFault(links, Latency(ms=300))))
    assert re.search(UNANSWERED, sees(LinkFault(links, Blackhole())))
    assert re.search(r"a call is reset", sees(LinkFault(links, Reset())))
    assert re.search(r"Toxiproxy lists bandwidth downstream \(a TLS", sees(LinkFault(links, Bandwidth(kbytes=20))))
    assert sees(PauseBroker(101)).startswith("controller 101 takes a call and does not answer")
    assert sees(KillBroker(101)) == "the process of controller 101 is gone"


@pytest.fixture(scope="module")
def containers() -> Iterator[Cluster]:
    quick = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
    with Cluster(brokers=3, provider="containers", config=quick) as cluster:
        cluster.create_topic(TOPIC, partitions=PARTITIONS)
        yield cluster


@pytest.mark.containers
@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        pytest.param(
            KillBroker(2), r"^the process of broker 2 is gone, a call to it is (refused|hung up|reset)$", id="kill"
        ),
        pytest.param(Isolate(2), r"Toxiproxy lists cut \(its proxy listens inside a container", id="isolate"),
        pytest.param(
            LinkFault(SOME[:1], Latency(ms=300)), r"an answer takes \d{3,} ms, past the proxy \d+ ms", id="latency"
        ),
    ],
)
def test_faults_bite_and_heal_in_containers_too(containers: Cluster, fault: Any, seen: str):
    arena = SimpleNamespace(cluster=containers, traffic=None)

    with impatient(), pytest.raises(NotReady):
        fault.bite(arena)
    with fault.applied(arena):
        assert re.search(seen, fault.bite(arena))

    assert_works(containers)
