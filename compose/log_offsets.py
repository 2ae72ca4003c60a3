"""Where the log of each partition begins and ends, and how an operator moves its beginning."""

from collections.abc import Iterable, Mapping

from kernel.cluster import ClusterAddress
from kernel.errors import NotReady, UsageError

TIMEOUT = 15.0

Where = tuple[str, int]


def log_offsets(address: ClusterAddress, topic: str, partitions: int) -> dict[int, tuple[int, int]]:
    """Log start offset and high watermark of each partition, as its leader says."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    # Asked of a consumer: confluent-kafka's admin client answers -1001, without an error, when its brokers are silent.
    asking = Consumer(address.librdkafka() | {"group.id": "kafka-trial-offsets", "log_level": 0})
    try:
        return {
            partition: asking.get_watermark_offsets(TopicPartition(topic, partition), timeout=TIMEOUT, cached=False)
            for partition in range(partitions)
        }
    except KafkaException as error:
        raise NotReady(f"where {topic} begins and ends could not be read: {error.args[0].str()}") from error
    finally:
        asking.close()


def log_ends(address: ClusterAddress, partitions: Iterable[Where], *, committed: bool, patience: float) -> dict[Where, int]:
    """The high watermark, or the last stable offset. A partition whose leader does not answer is left out."""
    from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
    from confluent_kafka.admin import AdminClient, OffsetSpec

    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    admin = AdminClient(address.librdkafka() | {"log_level": 0})  # kept in a name: one that is collected ends its own calls
    asked = {TopicPartition(topic, partition): OffsetSpec.latest() for topic, partition in partitions}
    ends = {}
    for where, answer in admin.list_offsets(asked, isolation_level=level, request_timeout=patience).items():
        try:
            ends[where.topic, where.partition] = int(answer.result().offset)
        except KafkaException:
            continue
    return {where: end for where, end in ends.items() if end >= 0}  # of silent brokers confluent-kafka 2.16 says -1001


def delete_records(address: ClusterAddress, below: Mapping[Where, int]) -> dict[Where, int]:
    """Delete what lies below an offset of each partition; returns the log start offsets that follow."""
    from confluent_kafka import KafkaException, TopicPartition
    from confluent_kafka.admin import AdminClient

    admin = AdminClient(address.librdkafka() | {"log_level": 0})
    asked = [TopicPartition(topic, partition, offset) for (topic, partition), offset in below.items()]
    try:
        done = {(where.topic, where.partition): future.result() for where, future in admin.delete_records(asked).items()}
    except KafkaException as error:
        raise UsageError(f"records below {dict(below)} could not be deleted: {error.args[0].str()}") from error
    return {where: int(deleted.low_watermark) for where, deleted in done.items()}
