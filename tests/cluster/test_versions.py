"""Other Kafka versions, other shapes, and changing a broker's version in a running cluster."""

import pytest

from compose.cluster import Cluster
from compose.links import Link
from compose.toxics import Cut
from kernel.errors import FetchFailed, UsageError
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
