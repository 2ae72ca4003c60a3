"""The catalogue held against recorded nodes: whole, and after something was taken away, added or changed."""

import pytest

from exporters.readings import Reading
from exporters.verifying import left_out, verify
from kernel.metric_tables import FROM_JMX
from tests.pure.beans import NODES, recorded, without

HEARTBEAT = "kafka_controller_kafkacontroller_timesincelastheartbeatreceivedms"


@pytest.mark.parametrize("node", NODES)
def test_a_real_node_has_all_it_should_and_nothing_unknown(node: str):
    told = verify(FROM_JMX, recorded(node))

    version, role = node.split("-")
    assert ".".join(map(str, told.version)) == version
    assert told.roles == ({"broker", "controller"} if role == "combined" else {role})
    assert ([metric.key for metric in told.missing], told.unexpected, told.wrong) == ([], [], [])
    assert len(told.present) > 100


@pytest.mark.parametrize(
    ("node", "bean"),
    [
        ("4.3.1-combined", "name=UnderReplicatedPartitions"),
        ("4.3.1-combined", "name=ActiveControllerCount"),
        ("4.3.1-controller", "name=OfflinePartitionsCount"),
        ("4.3.1-broker", "name=BytesInPerSec"),
        ("3.9.1-broker", "type=app-info"),
        ("3.9.1-combined", "type=OperatingSystem"),
    ],
)
def test_a_bean_that_vanished_is_a_loss(node: str, bean: str):
    told = verify(FROM_JMX, without(recorded(node), bean))

    assert not told.holds
    assert all(bean in metric.bean for metric in told.missing)
    assert told.missing


def test_what_comes_only_with_an_event_is_not_missed():
    told = verify(FROM_JMX, recorded("4.3.1-combined"))

    assert any("LeaderElectionRate" in metric.bean for metric in verify(FROM_JMX, recorded("3.9.1-combined")).dormant)
    assert not any("LeaderElectionRate" in metric.bean for metric in told.dormant), "Kafka 4 never has it"


def test_a_standby_controller_does_not_owe_what_only_the_active_one_tells():
    """Found here on 2026-11-17: two of three controllers in good health lacked one metric for ever."""
    active = without(recorded("4.3.1-controller"), "name=TimeSinceLastHeartbeatReceivedMs")
    standby = [reading._replace(value=0) if "name=ActiveControllerCount" in reading.bean else reading for reading in active]

    assert {metric.name for metric in verify(FROM_JMX, active).missing} == {HEARTBEAT}
    assert verify(FROM_JMX, standby).holds
    assert HEARTBEAT in {metric.name for metric in verify(FROM_JMX, standby).dormant}


def test_a_bean_nobody_knows_is_named():
    readings = [*recorded("4.3.1-broker"), Reading("kafka.server:type=ReplicaManager,name=Brandnew", "Value", 1)]

    told = verify(FROM_JMX, readings)

    assert told.unexpected == ["kafka.server:type=ReplicaManager,name=Brandnew"]
    assert told.holds, "more is no loss"


def test_a_number_that_became_a_word_is_of_another_kind():
    readings = [
        reading._replace(value="many") if "UnderReplicatedPartitions" in reading.bean else reading
        for reading in recorded("4.3.1-broker")
    ]

    told = verify(FROM_JMX, readings)

    bean = "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions"
    assert told.wrong == [f"{bean} Value should be a number and is 'many'"]
    assert not told.holds


def test_what_is_left_out_has_its_reason():
    assert "identity" in left_out("kafka.server:type=KafkaServer,name=ClusterId")
    assert left_out("kafka.server:type=Nobody,name=Knows") == ""
