"""Reads `__consumer_offsets` for ever: its own thread, without a group, committed records only.

Whether it has caught up is a matter of positions, not of records: after a transaction the log ends in a marker that no
reader ever sees, and who waits for the last record waits for ever. librdkafka tells where it stands at the end.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernel.cluster import ClusterAddress
from lag_monitor.sources.taking import Record, Taker

log = logging.getLogger(__name__)
TOPIC = "__consumer_offsets"
BATCH = 20_000
POLL = 0.2
AT_THE_BEGINNING = 0


class OffsetsReader:
    """`lock` guards the store that the records go to; `wall` is the clock that commit times are compared with."""

    def __init__(
        self,
        address: ClusterAddress,
        settings: Mapping[str, Any],
        taker: Taker,
        lock: threading.RLock,
        wall: Callable[[], float] = time.time,
    ) -> None:
        ours = {
            "group.id": "kafka-trial-lag-monitor-reader",  # never joined, nothing is committed: librdkafka wants a name
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
            "reconnect.backoff.max.ms": 2_000,
            "queued.max.messages.kbytes": 65_536,
            "fetch.queue.backoff.ms": 10,  # its default of a second makes a catch-up wait for nothing
        }
        self._config = {**address.librdkafka(), **settings, **ours}
        self._taker, self._lock, self._wall = taker, lock, wall
        self.positions: dict[int, int] = {}  # partition → the next offset
        self.trouble = ""
        self.denied = False  # we may not read it
        self._wanted: dict[int, int] = {}
        self._stop, self._changed = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="read __consumer_offsets", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._changed.set()

    def join(self, timeout: float) -> None:
        if self._thread.ident is not None:  # it may never have been started: the other source does alone
            self._thread.join(timeout)

    def read(self, partitions: Sequence[int], since: Mapping[int, int] | None = None) -> None:
        """From now on these, each from where it was left, or from where `since` says, or from its beginning."""
        since = since or {}
        wanted = {one: self.positions.get(one, since.get(one, AT_THE_BEGINNING)) for one in partitions}
        if wanted.keys() != self._wanted.keys():
            self._wanted = wanted
            self._changed.set()

    def reached(self, ends: Mapping[int, int]) -> set[int]:
        """Partitions that were read up to these ends at least."""
        return {partition for partition, end in ends.items() if self.positions.get(partition, -1) >= end}

    def _run(self) -> None:
        from confluent_kafka import KafkaException

        while not self._stop.is_set():
            try:
                self._read()
            except KafkaException as trouble:
                self.trouble = f"{TOPIC} cannot be read: {trouble.args[0].str()}"
                log.warning("%s", self.trouble)
                self._stop.wait(1)
            except Exception:  # a bug of ours must not look like a group that stopped: it is told, and begun anew
                log.exception("reading %s ended and is begun anew", TOPIC)
                self._stop.wait(1)

    def _read(self) -> None:
        from confluent_kafka import Consumer

        while not self._wanted and not self._stop.is_set():
            self._changed.wait(POLL)
        self._changed.clear()
        if self._stop.is_set():
            return
        consumer = Consumer(self._config)
        try:
            self._assign(consumer)
            while not self._stop.is_set():
                if self._changed.is_set():
                    self._changed.clear()
                    self._assign(consumer)
                self._take(consumer.consume(BATCH, POLL))
        finally:
            consumer.close()

    def _assign(self, consumer: Any) -> None:
        from confluent_kafka import TopicPartition

        wanted = dict(self._wanted)
        self.positions = {one: self.positions.get(one, begin) for one, begin in wanted.items()}
        consumer.assign([TopicPartition(TOPIC, one, self.positions[one]) for one in wanted])

    def _take(self, messages: Sequence[Any]) -> None:
        records: list[Record] = []
        reached: dict[int, int] = {}
        for message in messages:
            error = message.error()
            if error is None:
                offset = message.offset()
                reached[message.partition()] = offset + 1
                records.append((message.key(), message.value(), offset))
            else:
                self._told(message, error, reached)
        if not reached and not records:
            return
        with self._lock:
            self._taker.take(records, int(self._wall()))
            for partition, position in reached.items():
                if partition in self.positions:
                    self.positions[partition] = position
        self.trouble, self.denied = "", False

    def _told(self, message: Any, error: Any, reached: dict[int, int]) -> None:
        from confluent_kafka import KafkaError

        if error.code() == KafkaError._PARTITION_EOF:
            reached[message.partition()] = message.offset()
            return
        self.denied = error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        said = f"{TOPIC} cannot be read: {error.str()}"
        if said != self.trouble:
            log.warning("%s", said)
        self.trouble = said
