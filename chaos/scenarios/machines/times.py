"""The times that records carry, as a reader sees them."""

from typing import Any

from kernel.cluster import ClusterAddress


def append_times(address: ClusterAddress, topic: str, partition: int, *, last: int) -> list[float]:
    """Of the last so many records of a partition, in seconds since 1970."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {"group.id": "kafka-trial-times", "enable.auto.commit": False, "log_level": 0}
    reader: Any = Consumer(address.librdkafka() | settings)
    try:
        where = TopicPartition(topic, partition)
        _, end = reader.get_watermark_offsets(where, timeout=10, cached=False)
        reader.assign([TopicPartition(topic, partition, max(0, end - last))])
        found = reader.consume(last, timeout=10)
        return [message.timestamp()[1] / 1000 for message in found if message.error() is None]
    finally:
        reader.close()
