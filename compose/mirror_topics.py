"""What MirrorMaker writes down of its own work, read back: how far it had copied, and where a group stands on the target.

Its checkpoints are on the target in `source.checkpoints.internal`, in a binary form of its own; how far it has copied is
in Connect's offsets topic there, as JSON. What comes later replaces what was said before.
"""

import json
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from compose.mirror import SOURCE
from kernel.cluster import ClusterAddress
from kernel.errors import NotReady, SuiteError

CHECKPOINTS = f"{SOURCE}.checkpoints.internal"
FLUSHED = f"mm2-offsets.{SOURCE}.internal"
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A group that stands at `upstream` on the source may start at `downstream` on the target. Topics as the target's."""

    group: str
    topic: str
    partition: int
    upstream: int
    downstream: int


def checkpoint(key: bytes, value: bytes) -> Checkpoint:
    try:
        group, at = _string(key, 0)
        topic, at = _string(key, at)
        (partition,) = struct.unpack_from(">i", key, at)
        _version, upstream, downstream = struct.unpack_from(">hqq", value)
    except (struct.error, UnicodeDecodeError) as trouble:
        raise SuiteError(f"a record of {CHECKPOINTS} is no checkpoint as this version knows them: {trouble}.") from trouble
    return Checkpoint(group, topic, partition, upstream, downstream)


def _string(content: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">h", content, at)
    return content[at + 2 : at + 2 + length].decode(), at + 2 + length


def flushed_offset(key: bytes, value: bytes | None) -> tuple[str, int, int | None] | None:
    """Topic, partition and last offset of the source that is copied for good; None if it is about something else."""
    try:
        _connector, where = json.loads(key)
        topic, partition = where["topic"], int(where["partition"])
    except (ValueError, TypeError, KeyError):
        return None
    return topic, partition, int(json.loads(value)["offset"]) if value else None


def checkpoints(target: ClusterAddress, group: str) -> dict[tuple[str, int], Checkpoint]:
    """The latest of a group, by partition of the target."""
    said = (checkpoint(key, value) for key, value in _records(target, CHECKPOINTS) if value)
    return {(one.topic, one.partition): one for one in said if one.group == group}


def flushed(target: ClusterAddress, topic: str) -> dict[int, int]:
    """By partition of the source, the last offset that a MirrorMaker which starts now will not copy again."""
    known: dict[int, int] = {}
    for told in filter(None, (flushed_offset(key, value) for key, value in _records(target, FLUSHED))):
        where, partition, offset = told
        if where == topic and offset is not None:
            known[partition] = offset
    return known


def ends(address: ClusterAddress, topic: str, partitions: int) -> dict[int, int]:
    """Where each partition ends, transactions that are open included."""
    from confluent_kafka import TopicPartition

    with _reader(address, **{"isolation.level": "read_uncommitted"}) as reader:
        where = [TopicPartition(topic, partition) for partition in range(partitions)]
        return {one.partition: _watermarks(reader, one)[1] for one in where}


def tails(address: ClusterAddress, topic: str, partitions: int) -> dict[int, tuple[int, bytes]]:
    """Offset and content of the last record of each partition. Two logs of which one is copied from the other, in order,
    are level when they end in the same record."""
    found: dict[int, tuple[int, bytes]] = {}
    for message in _messages(address, topic, range(partitions), back=50):  # markers of transactions are in between
        found[message.partition()] = (message.offset(), message.value())
    return found


def _records(address: ClusterAddress, topic: str) -> Iterator[tuple[bytes, bytes | None]]:
    """All of a topic; none while there is no such topic."""
    with _reader(address) as reader:
        there = reader.list_topics(timeout=PATIENCE_S).topics.get(topic)
    for message in _messages(address, topic, there.partitions) if there else ():
        yield message.key(), message.value()


def _messages(address: ClusterAddress, topic: str, partitions: Iterable[int], back: int | None = None) -> Iterator[Any]:
    """Whatever is there, to the end; or what is among the last few offsets."""
    from confluent_kafka import TopicPartition

    with _reader(address) as reader:
        asked = [TopicPartition(topic, partition) for partition in partitions]
        for one in asked:
            low, high = _watermarks(reader, one)
            one.offset = low if back is None else max(low, high - back)
        reader.assign(asked)
        left = len(asked)
        while left:
            message = reader.poll(PATIENCE_S)
            if message is None:
                raise NotReady(f"{topic} could not be read to its end within {PATIENCE_S:.0f} s of silence.")
            if message.error() is None:
                yield message
            elif message.error().name() == "_PARTITION_EOF":
                left -= 1


def _watermarks(reader: Any, where: Any) -> tuple[int, int]:
    from confluent_kafka import KafkaException

    try:
        low, high = reader.get_watermark_offsets(where, timeout=PATIENCE_S, cached=False)
    except KafkaException as error:  # not created yet, or nobody answers
        raise NotReady(f"the ends of {where.topic}-{where.partition} are not known: {error.args[0].str()}.") from error
    return int(low), int(high)


@contextmanager
def _reader(address: ClusterAddress, **config: Any) -> Iterator[Any]:
    """A consumer that is of no group, and is closed."""
    from confluent_kafka import Consumer

    settings = {"group.id": "kafka-trial-mirror", "enable.auto.commit": False, "enable.partition.eof": True}
    settings |= {"auto.offset.reset": "earliest", "isolation.level": "read_committed", "log_level": 0}
    consumer = Consumer(address.librdkafka() | settings | {"fetch.wait.max.ms": 50} | config)
    try:
        yield consumer
    finally:
        consumer.close()
