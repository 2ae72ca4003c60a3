"""Who tells what: a number that every controller repeats must be known as such, or a sum makes three events of one.

Found here on 2026-11-17: one unclean election is counted by all controllers, not by the active one alone.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest

from compose.cluster import Cluster
from exporters.collectors.asks import EVERYTHING, Ask, asks
from exporters.collectors.http import session
from exporters.collectors.jolokia import JolokiaCollector
from exporters.readings import Reading
from exporters.selection import ACTIVE, selected
from exporters.translate import Translator
from exporters.verifying import verify
from kernel.metric_tables import FROM_JMX
from kernel.metrics import CONTROLLER, Kind, Metric, Scope
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


def beans_of(cluster: Cluster, node: int, asked: Sequence[Ask] = EVERYTHING) -> list[Reading]:
    with closing(JolokiaCollector(cluster.jolokia_url(node), asked, session=session(), timeout=20)) as beans:
        return beans.collect()


def told(cluster: Cluster, metrics: list[Metric]) -> dict[int, dict[Series, float]]:
    """By controller."""
    found = {}
    for node in (node for node in cluster.nodes if node not in cluster.brokers):
        families = Translator(metrics).translate(beans_of(cluster, node, asks(metrics))).families
        found[node] = {(name, labels): value for name, family in families.items() for _, labels, value in family.samples}
    return found


def test_what_is_called_repeated_every_controller_repeats(cluster: Cluster):
    repeated = [metric for metric in METRICS if metric.scope is Scope.CONTROLLERS]

    # A standby is a moment behind: what differs must come to agree.
    seen = wait_until(
        lambda: list(told(cluster, repeated).values()),
        lambda seen: not [key for key in set().union(*seen) if len({one[key] for one in seen if key in one}) > 1],
        what="three controllers to tell the same",
        timeout=30,
    )

    # Of a single broker a controller may tell nothing for ever (see the catalogue); of all else each tells.
    of_all = [{key: value for key, value in one.items() if "broker" not in dict(key[1])} for one in seen]
    assert len(of_all) == 3 and of_all[0] == of_all[1] == of_all[2] and len(of_all[0]) >= 10
    assert of_all[0][UNCLEAN, ()] == 1
    assert of_all[0][ELECTED, ()] >= 1


def test_what_is_called_the_active_ones_no_other_tells(cluster: Cluster):
    of_the_active = [metric for metric in METRICS if metric.scope is Scope.ACTIVE]

    seen = told(cluster, of_the_active)

    assert {node for node, series in seen.items() if series} == {cluster.controller()}


@pytest.mark.parametrize("node", [101, 102, 103])
def test_no_controller_lacks_anything_be_it_active_or_not(cluster: Cluster, node: int):
    held = verify(FROM_JMX, beans_of(cluster, node))

    assert [metric.key for metric in held.missing] == []


def test_what_may_be_summed_is_not_one_number_repeated(cluster: Cluster):
    """Counts of events in the cluster that all three have alike, and above 0, would be tripled by a sum."""
    ours = [metric for metric in METRICS if metric.scope is Scope.NODE and metric.domain == "kafka.controller"]
    counts = [metric for metric in ours if metric.kind is Kind.COUNTER or metric.name == ACTIVE]

    seen = list(told(cluster, counts).values())

    alike = {key for key in seen[0] if seen[0][key] > 0 and all(one.get(key) == seen[0][key] for one in seen)}
    assert not alike
    assert sum(one[ACTIVE, ()] for one in seen) == 1


def test_a_controller_that_was_restarted_lacks_nothing_either(cluster: Cluster):
    """Kafka does not bring back what it told of each broker's registration: that is no loss which anybody could mend.

    The last test here: a controller that starts anew counts anew, and three would not be alike any more.
    """
    standby = next(node for node in (101, 102, 103) if node != cluster.controller())
    cluster.restart(standby)

    held = wait_until(
        lambda: verify(FROM_JMX, beans_of(cluster, standby)),
        lambda held: held.roles == {CONTROLLER},
        what="its beans",
        timeout=30,
    )

    assert [metric.key for metric in held.missing] == []
    assert any("BrokerRegistrationState" in metric.bean for metric in held.dormant)
