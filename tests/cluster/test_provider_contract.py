"""What every provider must do, run on each of them: the one file that says what a cluster is."""

import json
import urllib.request

import pytest

from compose.cluster import Cluster
from compose.links import Link
from compose.toxics import Cut
from compose.view import ClusterView
from kernel.cluster import ClusterAddress
from kernel.errors import UsageError
from kernel.waiting import wait_until
from tests.cluster.providers import PROVIDERS
from tests.cluster.traffic import read, send

QUICK = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


@pytest.fixture(scope="module", params=PROVIDERS)
def cluster(request: pytest.FixtureRequest):
    with Cluster(provider=request.param, config=QUICK, javaagent=True) as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    cluster.links.heal_all()
    for broker in cluster.brokers:
        cluster.resume(broker)
        cluster.start(broker)
    name = request.node.originalname
    cluster.create_topic(name, config={"min.insync.replicas": "2"})
    return name


def test_three_brokers_answer_and_one_controller_is_active(cluster: Cluster):
    assert cluster.view.brokers() == {1, 2, 3}
    quorum = cluster.view.quorum()
    assert quorum.voters == (1, 2, 3)
    assert cluster.controller() in quorum.voters


def test_records_go_in_and_come_out(cluster: Cluster, topic: str):
    sent = send(cluster.address, topic, [str(n) for n in range(100)])

    assert len(sent) == 100
    assert read(cluster.address, topic, 100) == sent


def test_a_killed_leader_is_replaced_and_nothing_acknowledged_is_lost(cluster: Cluster, topic: str):
    sent = send(cluster.address, topic, ["before"])
    leader = cluster.leader_of(topic)

    cluster.kill(leader)

    assert not cluster.running(leader)
    after = wait_until(
        lambda: cluster.partition(topic).leader, lambda now: now not in (None, leader), what="a new leader", timeout=30
    )
    assert after in cluster.brokers
    sent += send(cluster.address, topic, ["after"])
    assert read(cluster.address, topic, 2) == sent == ["before", "after"]

    cluster.start(leader)
    cluster.wait_replicated(topic)
    assert cluster.isr_of(topic) == {1, 2, 3}


def test_a_stopped_broker_hands_over_first(cluster: Cluster, topic: str):
    leader = cluster.leader_of(topic)

    cluster.stop(leader)

    assert "controlled shutdown" in cluster.log(leader)
    assert cluster.leader_of(topic) != leader
    cluster.start(leader)
    cluster.wait_replicated(topic)


@pytest.mark.parametrize("who", ["follower", "controller"])
def test_a_paused_broker_is_fenced_and_comes_back_and_never_blinds_the_view(cluster: Cluster, topic: str, who: str):
    active = cluster.controller()
    paused = active if who == "controller" else next(broker for broker in cluster.brokers if broker != active)

    cluster.pause(paused)

    assert cluster.running(paused)
    wait_until(lambda: cluster.isr_of(topic), lambda isr: paused not in isr, what="out of the ISR", timeout=60)
    cluster.resume(paused)
    cluster.wait_replicated(topic)


def test_a_broker_cut_off_from_the_controllers_is_not_believed(cluster: Cluster, topic: str):
    victim = next(broker for broker in cluster.brokers if broker != cluster.controller())

    with cluster.broken(Cut(), *(Link(victim, other, "controller") for other in cluster.brokers if other != victim)):
        wait_until(cluster.view.brokers, lambda alive: victim not in alive, what="fenced", timeout=60)
        its_own = ClusterView(lambda: {victim: ClusterAddress(cluster.direct_address.bootstrap.split(",")[victim - 1])})
        assert its_own.brokers() == {1, 2, 3}, "it still believes itself alive: the trap is real"
        its_own.close()

    wait_until(cluster.view.brokers, lambda alive: victim in alive, what="unfenced", timeout=60)


def test_a_restart_brings_new_configuration_and_the_broker_describes_it(cluster: Cluster, topic: str):
    assert cluster.effective_config(2)["log.retention.hours"] == "168"
    assert cluster.effective_config(2)["broker.session.timeout.ms"] == "3000"

    cluster.restart(2, config={"log.retention.hours": "7"})

    assert cluster.effective_config(2)["log.retention.hours"] == "7"
    assert cluster.effective_config(1)["log.retention.hours"] == "168"
    assert cluster.topic_config(topic)["min.insync.replicas"] == "2"


def test_the_log_of_every_life_is_kept(cluster: Cluster, topic: str):
    lives = cluster.log(3).count("Kafka Server started")

    cluster.restart(3)

    assert cluster.log(3).count("Kafka Server started") == lives + 1


def test_a_cut_client_link_keeps_clients_out_and_leaves_the_brokers_alone(cluster: Cluster, topic: str):
    leader = cluster.leader_of(topic)

    with cluster.broken(Cut(), Link("client", leader)):
        assert cluster.links.faults_on(Link("client", leader)) == ["cut"]
        assert send(cluster.address, topic, ["unheard"], **{"message.timeout.ms": 2000}) == []
        assert cluster.leader_of(topic) == leader
        assert cluster.isr_of(topic) == {1, 2, 3}
        assert cluster.view.brokers() == {1, 2, 3}

    assert cluster.links.faults_on(Link("client", leader)) == []
    assert send(cluster.address, topic, ["heard"]) == ["heard"]


def test_every_node_has_jmx_and_the_agent(cluster: Cluster):
    import jmxquery

    for node in cluster.nodes:
        connection = jmxquery.JMXConnection(f"service:jmx:rmi:///jndi/rmi://{cluster.jmx(node)}/jmxrmi")
        beans = [jmxquery.JMXQuery("kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec/Count")]
        answer = connection.query(beans, timeout=60)  # it starts a JVM of its own
        assert answer, f"node {node} has no JMX"
        with urllib.request.urlopen(cluster.agent_url(node), timeout=20) as page:
            assert b"kafka_server_brokertopicmetrics" in page.read().lower()


def test_features_are_those_of_a_new_cluster(cluster: Cluster):
    features = cluster.view.features()

    assert features["transaction.version"] == 2
    assert features["eligible.leader.replicas.version"] == 1


def test_an_unknown_broker_is_refused_by_name(cluster: Cluster):
    with pytest.raises(UsageError, match=r"broker 9 does not exist: this cluster has 1, 2, 3"):
        cluster.kill(9)
    with (
        pytest.raises(UsageError, match=r"link 9 → 1 \(replication\) does not exist in this cluster"),
        cluster.broken(Cut(), Link(9, 1, "replication")),
    ):
        pass


def test_a_topic_that_is_there_will_do_only_if_it_is_what_was_asked_for(cluster: Cluster, topic: str):
    cluster.create_topic(topic, config={"min.insync.replicas": "2"})

    with pytest.raises(UsageError, match=rf"topic '{topic}' exists with .*'partitions': 1.*, not with .*'partitions': 4"):
        cluster.create_topic(topic, partitions=4)
    with pytest.raises(
        UsageError, match=r"exists with .*'min.insync.replicas': '2'.*, not with .*'min.insync.replicas': '1'"
    ):
        cluster.create_topic(topic, config={"min.insync.replicas": 1})


def test_facts_can_be_kept_as_json(cluster: Cluster):
    facts = json.loads(json.dumps(cluster.facts()))

    assert facts["bootstrap"] == cluster.address.bootstrap
    assert set(facts["jmx"]) == {"1", "2", "3"}


# The last one: it changes the shape of the cluster that the others share.
def test_a_broker_can_be_added_and_gets_links_of_its_own(cluster: Cluster, topic: str):
    new = cluster.add_broker()

    assert new == 4
    assert cluster.view.brokers() == {1, 2, 3, 4}
    cluster.create_topic("on-four", replication=4)
    assert cluster.isr_of("on-four") == {1, 2, 3, 4}
    with cluster.broken(Cut(), *(Link(new, leader, "controller") for leader in (1, 2, 3))):
        wait_until(cluster.view.brokers, lambda alive: new not in alive, what="broker 4 fenced", timeout=30)
    wait_until(cluster.view.brokers, lambda alive: new in alive, what="broker 4 back", timeout=30)
