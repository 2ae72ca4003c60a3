"""Is there anything to read beyond a commit? Transactions end in markers that take an offset and hold nothing, so that who
has read everything seems to be one behind for ever; compaction leaves such holes too. A short look tells.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel.cluster import ClusterAddress
from lag_monitor.sources.admin import Partition

POLL = 0.2


@dataclass(slots=True)
class Peeked:
    clear_to: dict[Partition, int] = field(default_factory=dict)  # nothing to read up to here
    full: set[Partition] = field(default_factory=set)  # there is a record
    denied: set[Partition] = field(default_factory=set)  # we may not look


class Peeker:
    def __init__(self, address: ClusterAddress, settings: Mapping[str, Any]) -> None:
        ours = {
            "group.id": "kafka-trial-lag-monitor-reader",  # never joined: librdkafka wants a name
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
            "fetch.message.max.bytes": 65_536,
            "queued.max.messages.kbytes": 1_024,
        }
        self._config = {**address.librdkafka(), **settings, **ours}

    def peek(self, places: Sequence[tuple[Partition, int]], timeout: float) -> Peeked:
        """Each partition but once. What does not answer in time is asked another time."""
        from confluent_kafka import Consumer, KafkaException, TopicPartition

        found = Peeked()
        consumer = Consumer(self._config)
        try:
            consumer.assign([TopicPartition(topic, number, offset) for (topic, number), offset in places])
            left, deadline = {where for where, _ in places}, time.monotonic() + timeout
            while left and time.monotonic() < deadline:
                for message in consumer.consume(1_000, POLL):
                    _sort_in(message, found, left)
        except KafkaException:
            pass  # the next look tries again
        finally:
            consumer.close()
        return found


def _sort_in(message: Any, found: Peeked, left: set[Partition]) -> None:
    from confluent_kafka import KafkaError

    where = (message.topic(), message.partition())
    if where not in left:
        return
    error = message.error()
    if error is None:
        found.full.add(where)
    elif error.code() == KafkaError._PARTITION_EOF:
        found.clear_to[where] = message.offset()
    elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        found.denied.add(where)
    left.discard(where)
