"""The smallest honest traffic: send, count acknowledgements; read, count records."""

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from kernel.cluster import ClusterAddress


def send(
    address: ClusterAddress, topic: str, values: list[str], *, partition: int = 0, timeout: float = 30, **config: object
) -> list[str]:
    """Send, wait, and return the values that were acknowledged."""
    acknowledged: list[str] = []
    producer = Producer(address.librdkafka() | {"acks": "all", "log_level": 0, **config})
    for value in values:
        producer.produce(
            topic,
            value,
            partition=partition,
            on_delivery=lambda error, message: acknowledged.append(message.value().decode()) if error is None else None,
        )
    producer.flush(timeout)
    return acknowledged


def read(address: ClusterAddress, topic: str, count: int, *, partition: int = 0, timeout: float = 30) -> list[str]:
    """The first `count` values of a partition, or as many as there are."""
    consumer = Consumer(address.librdkafka() | {"group.id": "reader", "enable.partition.eof": True, "log_level": 0})
    consumer.assign([TopicPartition(topic, partition, 0)])
    values: list[str] = []
    try:
        while len(values) < count:
            message = consumer.poll(timeout)
            if message is None or (message.error() and message.error().code() == KafkaError._PARTITION_EOF):
                break
            if not message.error():
                values.append(message.value().decode())
    finally:
        consumer.close()
    return values
