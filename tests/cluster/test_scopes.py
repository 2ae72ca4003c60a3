"""Who tells what: a number that every controller repeats must be known as such, or a sum makes three events of one.

Found here on 2026-11-17: one unclean election is counted by all controllers, not by the active one alone.
"""

from collections.abc import Iterator

import pytest

from compose.cluster import Cluster
from exporters.collectors.asks import asks
from exporters.collectors.http import session
from exporters.collectors.jolokia import JolokiaCollector
from exporters.selection import selected
from exporters.translate import Translator
from kernel.metric_tables import FROM_JMX
from kernel.metrics import CONTROLLER, Metric, Scope
from kernel.waiting import wait_until
from tests.cluster.traffic import send

QUICK = {"replica.lag.time.max.ms": "2000", "broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
UNCLEAN = "kafka_controller_controllerstats_uncleanleaderelections_total"
ELECTED = "kafka_controller_kafkacontroller_newactivecontrollerscount_total"
METRICS = [metric for metric in selected(FROM_JMX) if CONTROLLER in metric.roles]
Series = tuple[str, tuple[tuple[str, str], ...]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """After one unclean election."""
    with Cluster(brokers=2, controllers=3, config=QUICK, jolokia=True, provider="processes") as cluster:
        careless = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
        cluster.create_topic("careless", partitions=1, replication=2, config=careless)
        leader = cluster.leader_of("careless")
        follower = 3 - leader
        cluster.kill(follower)
        wait_until(lambda: cluster.isr_of("careless", 0), lambda isr: follower not in isr, what="a lone leader", timeout=60)
        send(cluster.address, "careless", ["only the leader has this"])
        cluster.kill(leader)
        cluster.start(follower)
        wait_until(lambda: cluster.leader_of("careless"), lambda now: now == follower, what="an election", timeout=60)
        yield cluster


def told(cluster: Cluster, metrics: list[Metric]) -> dict[int, dict[Series, float]]:
    """By controller."""
    found = {}
    for node in (node for node in cluster.nodes if node not in cluster.brokers):
        with_beans = JolokiaCollector(cluster.jolokia_url(node), asks(metrics), session=session(), timeout=20)
        families = Translator(metrics).translate(with_beans.collect()).families
        found[node] = {(name, labels): value for name, family in families.items() for _, labels, value in family.samples}
        with_beans.close()
    return found


def test_what_is_called_repeated_every_controller_repeats(cluster: Cluster):
    repeated = [metric for metric in METRICS if metric.scope is Scope.CONTROLLERS]

    # A standby is a moment behind: what differs must come to agree.
    alike = wait_until(
        lambda: list(told(cluster, repeated).values()),
        lambda seen: all(one == seen[0] for one in seen),
        what="three controllers to tell the same",
        timeout=30,
    )

    assert len(alike) == 3 and len({name for name, _ in alike[0]}) > 10
    assert alike[0][UNCLEAN, ()] == 1
    assert alike[0][ELECTED, ()] >= 1


def test_what_is_called_the_active_ones_no_other_tells(cluster: Cluster):
    of_the_active = [metric for metric in METRICS if metric.scope is Scope.ACTIVE]

    seen = told(cluster, of_the_active)

    assert {node for node, series in seen.items() if series} == {cluster.controller()}


def test_what_may_be_summed_is_not_one_number_repeated(cluster: Cluster):
    """Counts of events in the cluster that all three have alike, and above 0, would be tripled by a sum."""
    may_be_summed = [metric for metric in METRICS if metric.scope is Scope.NODE and metric.domain == "kafka.controller"]

    seen = list(told(cluster, may_be_summed).values())

    alike = {key for key in seen[0] if seen[0][key] > 0 and all(one.get(key) == seen[0][key] for one in seen)}
    offsets = {"lastappliedrecordoffset", "lastcommittedrecordoffset"}  # positions, which nobody would sum
    assert not {name for name, _ in alike if name.rpartition("_")[2] not in offsets}
    assert sum(one["kafka_controller_kafkacontroller_activecontrollercount", ()] for one in seen) == 1
