"""Paste this into your own repository: three brokers, one killed, and the records are still there.

pip install 'kafka-trial[test]' brings the fixture; nothing else needs to be set up.
"""

from confluent_kafka import Consumer, Producer


def test_records_survive_the_death_of_a_broker(fresh_cluster):
    kafka = fresh_cluster
    kafka.create_topic("orders", partitions=1, replication=3, config={"min.insync.replicas": "2"})
    producer = Producer(kafka.address.librdkafka() | {"acks": "all"})
    for number in range(100):
        producer.produce("orders", f"order {number}")
    assert producer.flush(30) == 0

    kafka.kill(kafka.leader_of("orders"))

    consumer = Consumer(kafka.address.librdkafka() | {"group.id": "shop", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    records = consumer.consume(100, timeout=60)
    consumer.close()
    assert [record.value().decode() for record in records] == [f"order {number}" for number in range(100)]
