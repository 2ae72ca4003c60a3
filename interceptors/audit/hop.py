"""A hop that reads and writes in transactions commits its offsets by the *producer*: how its consumer hears of that.

`send_offsets_to_transaction` is heard by the producer's interceptor, and counts once the transaction is committed. The
consumer that it commits for is found among those of this process: the one on the same cluster that has read those records.
If two have, nobody can say which, and neither counts them.
"""

import logging
import weakref
from typing import Any

from interceptors.audit.consuming import Consuming
from interceptors.contract import Event, Happening

LOG = logging.getLogger("interceptors.audit")
_consumers: "weakref.WeakKeyDictionary[Consuming, str]" = weakref.WeakKeyDictionary()


def join(consumer: Consuming, cluster: str) -> None:
    _consumers[consumer] = cluster


class Hop:
    """Of one transactional producer."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._offsets: dict[tuple[str, int], Any] = {}

    def happened(self, event: Event) -> None:
        if event.what is Happening.SEND_OFFSETS and event.error is None:
            self._offsets.update({(one.topic, one.partition): one for one in event.partitions})
        elif event.what in (Happening.BEGIN, Happening.ABORT):
            self._offsets = {}
        elif event.what is Happening.COMMIT and event.error is None:
            offsets, self._offsets = self._offsets, {}
            for one in offsets.values():
                self._committed(one)

    def _committed(self, one: Any) -> None:
        readers = [
            consumer
            for consumer, cluster in list(_consumers.items())
            if cluster == self._cluster and consumer.has_read(one.topic, one.partition, one.offset)
        ]
        if len(readers) == 1:
            readers[0].committed([one])
        elif readers:
            LOG.warning(
                "%d audited consumers of this process have read %s-%d: which of them a transaction committed for is not "
                "known, and their records are not counted.", len(readers), one.topic, one.partition,
            )  # fmt: skip
