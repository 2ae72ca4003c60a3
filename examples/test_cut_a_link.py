"""Paste this into your own repository: your producer loses its connection to one broker, and gets it back."""

from confluent_kafka import Producer

from kafka_trial import Cut, Link


def test_a_producer_survives_a_lost_connection(kafka_cluster):
    kafka_cluster.create_topic("payments", partitions=1, replication=3)
    leader = kafka_cluster.leader_of("payments")
    failed = []
    producer = Producer(kafka_cluster.address.librdkafka() | {"reconnect.backoff.max.ms": 200})

    with kafka_cluster.broken(Cut(), Link("client", leader)):
        producer.produce("payments", b"1 euro", on_delivery=lambda error, _: failed.append(error) if error else None)
        assert producer.flush(2) == 1  # still waiting: the leader cannot be reached

    assert producer.flush(30) == 0  # healed: delivered, with no error on the way
    assert failed == []
