"""Paste this into your own repository: known traffic flows while you do what you like to the cluster, then it is judged."""

from kafka_trial import KillBroker


def test_nothing_is_lost_while_a_broker_is_restarted(kafka_cluster, traffic):
    with traffic(acks="all") as flow:
        kafka_cluster.restart(2)
        flow.traffic.wait_for(acks=100, reads=100)

    assert flow.verdict["verdict"] == "PASS", flow.verdict["reasons"]


def test_nothing_is_lost_when_the_leader_dies(kafka_cluster, traffic):
    with traffic("payments", partitions=1, acks="all") as flow:
        [topic] = flow.topics
        with flow.inject(KillBroker(kafka_cluster.leader_of(topic))):  # goes on record, and must be seen to bite
            flow.traffic.wait_for(acks=100, reads=100, timeout=120)

    assert flow.verdict["verdict"] == "PASS", flow.verdict["reasons"]
    assert [row["censored"] for row in flow.verdict["recovery"]] == [False, False]  # sends and reads came back


def test_a_whole_scenario(trial):
    result = trial("acks-exposure", acks="1", records="20")

    assert result.found["lost-write"] == 20, result  # acks=1 loses exactly what only the leader had
