"""Other Kafka versions, other shapes, and changing a broker's version in a running cluster."""

import time

import psutil
import pytest

from compose.cluster import Cluster
from compose.links import Link
from compose.state import marked_processes
from compose.toxics import Cut
from kernel.errors import FetchFailed, UsageError
from kernel.waiting import wait_until
from tests.cluster.providers import PROVIDERS
from tests.cluster.traffic import read, send


@pytest.mark.parametrize("version", ["3.9.1", "4.1.0"])
def test_an_older_kafka_works_as_well(version: str):
    with Cluster(brokers=3, kafka=version, provider="processes") as cluster:
        cluster.create_topic("old", partitions=3)
        assert send(cluster.address, "old", ["a"]) == ["a"]
        assert cluster.controller() in (1, 2, 3)
        with cluster.broken(Cut(), Link("client", cluster.leader_of("old"))):
            assert send(cluster.address, "old", ["b"], **{"message.timeout.ms": 1500}) == []


def test_a_controller_alone_works_with_an_older_kafka():
    with Cluster(brokers=1, kafka="3.9.1", provider="processes") as cluster:
        assert cluster.controller() == 1
        cluster.create_topic("alone")
        assert send(cluster.address, "alone", ["a"]) == ["a"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_one_broker_can_be_upgraded_in_a_running_cluster(provider: str):
    with Cluster(brokers=3, kafka="4.1.0", provider=provider) as cluster:
        cluster.create_topic("kept")
        send(cluster.address, "kept", ["before"])
        level = cluster.view.features()["metadata.version"]

        cluster.restart(2, version="4.3.1")

        assert cluster.log(2).count("Kafka version: 4.1.0") > 0
        assert cluster.log(2).count("Kafka version: 4.3.1") > 0
        cluster.wait_replicated()
        assert cluster.view.features()["metadata.version"] == level
        assert read(cluster.address, "kept", 1) == ["before"]


def test_controllers_can_stand_apart():
    with Cluster(brokers=2, controllers=3, provider="processes") as cluster:
        assert cluster.view.quorum().voters == (101, 102, 103)
        assert cluster.view.brokers() == {1, 2}
        first = cluster.controller()

        cluster.kill(first)

        assert cluster.controller() != first
        assert cluster.view.brokers() == {1, 2}


def test_five_brokers_have_three_controllers():
    with Cluster(brokers=5, provider="processes") as cluster:
        assert cluster.view.brokers() == {1, 2, 3, 4, 5}
        assert cluster.view.quorum().voters == (1, 2, 3)


def test_features_can_be_chosen_at_format():
    with Cluster(brokers=1, provider="processes", features={"transaction.version": 1}) as cluster:
        assert cluster.view.features()["transaction.version"] == 1
    with pytest.raises(UsageError, match=r"storage cannot be formatted with --feature no.such=1: Kafka says"):
        Cluster(brokers=1, provider="processes", features={"no.such": 1}).boot()


def test_a_version_that_was_never_released_is_refused_and_nothing_is_cached():
    with pytest.raises(
        FetchFailed, match=r"Kafka 4\.9\.9 could not be fetched: Maven says .*Check the version \(tried here: 3\.9\.1"
    ):
        Cluster(brokers=1, kafka="4.9.9", provider="processes").boot()
    with pytest.raises(FetchFailed):
        Cluster(brokers=1, kafka="4.9.9", provider="processes").boot()


@pytest.mark.parametrize("version", ["3.9.1", "4.1.0", "4.3.1"])
def test_no_node_goes_round_its_proxies(version: str):
    """A voter learns its leader's address from the leader: found here on 2026-11-16, as metadata that crossed a cut link."""
    with Cluster(brokers=3, kafka=version, provider="processes") as cluster:
        cluster.create_topic("busy", partitions=4)
        # A voter that is cut off before it has heard of the topic follows nobody, and nothing would be seen of it.
        every_call = {(node, f"127.77.{node}.{other}") for node in cluster.nodes for other in cluster.nodes if node != other}
        wait_until(lambda: all_calls(cluster), every_call.issubset, what="each node fetches from each other", timeout=30)
        voter = next(node for node in cluster.nodes if node != cluster.controller())
        seen: set[tuple[int, str]] = set()
        with cluster.broken(Cut(), *(Link(voter, other, "controller") for other in cluster.nodes if other != voter)):
            for _ in range(25):  # longer than a voter's fetch timeout: then it takes the address that its leader tells
                seen |= all_calls(cluster)
                time.sleep(0.2)

    around = [(node, address) for node, address in seen if not address.startswith(f"127.77.{node}.")]
    assert around == []
    assert (1, "127.77.1.2") in seen, "the test would see nothing even if something went round"


def all_calls(cluster: Cluster) -> set[tuple[int, str]]:
    return {(node, address) for node in cluster.nodes for address in addresses_called_by(cluster, node)}


def addresses_called_by(cluster: Cluster, node: int) -> list[str]:
    """The remote end of each connection a node has opened itself; those it accepted end at a port it listens on."""
    ours = marked_processes(cluster.folder.name)
    process = next(process for process in ours if f"/node-{node}/" in " ".join(process.cmdline()))
    connections = process.net_connections("tcp")
    listening = {connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN}
    opened = [c for c in connections if c.status == psutil.CONN_ESTABLISHED and c.laddr.port not in listening]
    return [connection.raddr.ip.removeprefix("::ffff:") for connection in opened]
