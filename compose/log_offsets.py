"""Where the log of each partition begins and ends, and how an operator moves its beginning."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

from kernel.cluster import ClusterAddress
from kernel.errors import NotReady, UsageError

TIMEOUT = 5.0  # seconds for one answer
ATTEMPTS = 3  # each by a client of its own: librdkafka at times waits in vain for a broker that another reaches at once

T = TypeVar("T")
Where = tuple[str, int]
Answers = tuple[dict[Where, T], dict[Where, str]]  # what was told, and of the others why not


def log_offsets(address: ClusterAddress, topic: str, partitions: int) -> dict[int, tuple[int, int]]:
    """Log start offset and high watermark of each partition, as its leader says."""
    known = _told_of_all(partial(_watermarks, address), [(topic, partition) for partition in range(partitions)])
    return {partition: both for (_, partition), both in known.items()}


def log_ends(
    address: ClusterAddress, partitions: Iterable[Where], *, committed: bool, patience: float, attempts: int = ATTEMPTS
) -> dict[Where, int]:
    """The high watermark of each partition, or its last stable offset. `patience`: seconds for one answer."""
    return _told_of_all(partial(_latest, address, committed, patience), partitions, attempts)


def _told_of_all(
    ask: Callable[[list[Where]], Answers[T]], partitions: Iterable[Where], attempts: int = ATTEMPTS
) -> dict[Where, T]:
    """Of every partition, or `NotReady`: a sum over those that happened to answer would be about something else."""
    told: dict[Where, T] = {}
    silent = dict.fromkeys(wanted := list(partitions), "")
    for _ in range(attempts):
        more, silent = ask(list(silent))
        told |= more
        if not silent:
            return {where: told[where] for where in wanted}
    names = ", ".join(f"{topic}-{partition}" for topic, partition in silent)
    why = "; ".join(sorted(set(silent.values())))
    raise NotReady(
        f"where the log of {names} begins and ends could not be read in {attempts} attempts: {why}. "
        "See that each has a leader which answers.",
        partitions=list(silent),
    )


def _watermarks(address: ClusterAddress, partitions: list[Where]) -> Answers[tuple[int, int]]:
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    told, silent = {}, {}
    # Asked of a consumer: confluent-kafka's admin client answers -1001, without an error, when its brokers are silent.
    asking = Consumer(address.librdkafka() | {"group.id": "kafka-trial-offsets", "log_level": 0})
    try:
        for where in partitions:
            try:
                told[where] = asking.get_watermark_offsets(TopicPartition(*where), timeout=TIMEOUT, cached=False)
            except KafkaException as error:
                silent[where] = error.args[0].str()
    finally:
        asking.close()
    return told, silent


def _latest(address: ClusterAddress, committed: bool, patience: float, partitions: list[Where]) -> Answers[int]:
    from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
    from confluent_kafka.admin import AdminClient, OffsetSpec

    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    admin = AdminClient(address.librdkafka() | {"log_level": 0})  # kept in a name: one that is collected ends its own calls
    asked = {TopicPartition(*where): OffsetSpec.latest() for where in partitions}
    told, silent = {}, {}
    for place, answer in admin.list_offsets(asked, isolation_level=level, request_timeout=patience).items():
        where = (place.topic, place.partition)
        try:
            told[where] = int(answer.result().offset)
        except KafkaException as error:
            silent[where] = error.args[0].str()
    # Of brokers that are silent confluent-kafka 2.16 says -1001, and that is no error to it.
    silent |= {where: f"no answer in {patience:g} s" for where, end in told.items() if end < 0}
    return {where: end for where, end in told.items() if end >= 0}, silent


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
