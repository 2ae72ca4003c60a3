"""Sends a numbered record to every partition at a steady pace, whatever becomes of those before."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from exporters.histogram import Histogram
from exporters.probe.seen import ProbePlan, Seen, Start

log = logging.getLogger(__name__)
POLL = 0.2
AGAIN = 1.0  # seconds until a producer that failed for good is made anew
METADATA = 2.0


class Sender:
    def __init__(
        self,
        config: Mapping[str, Any],
        plan: ProbePlan,
        seen: Seen,
        instance: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        ours = {
            "acks": "all",
            "enable.idempotence": True,  # as Java's producers are: what then comes twice or out of order is not its doing
            "linger.ms": 0,
            "message.timeout.ms": int(plan.give_up_after * 1000),
            "allow.auto.create.topics": False,  # the keeper makes it, with a partition for each broker
            "log_level": 0,
        }
        self.config = {**ours, **config}
        self._plan, self._seen, self._instance, self._clock = plan, seen, instance, clock
        self._next: Counter[int] = Counter()  # number of a partition's next record
        self._due = 0.0
        self._trouble = ""
        self._known: dict[int, Start] = {}  # partitions of which the producer has heard

    def run(self, stop: threading.Event) -> None:
        """With one producer: until it has failed for good, or another topic has taken the place of this one. librdkafka
        compares the leader epochs of the two, takes the new one's for old news, and may not find its leaders."""
        from confluent_kafka import Producer

        topic_id, self._known = self._seen.topic_id, {}
        if topic_id is None:
            stop.wait(POLL)
            return
        producer = Producer(dict(self.config))
        while not stop.is_set() and self._seen.topic_id == topic_id:
            if not self._serve(producer, max(0.0, min(POLL, self._due - self._clock()))):
                stop.wait(AGAIN)
                break
            now = self._clock()
            if now >= self._due:
                due = self._due + self._plan.interval
                self._due = due if due > now else now + self._plan.interval  # a round that was missed is not made up for
                self._round(producer, now)
        producer.purge()
        producer.flush(1)

    def _serve(self, producer: Any, timeout: float) -> bool:
        """Whether it is still of use. An idempotent producer may fail for good, after an unclean election for one."""
        from confluent_kafka import KafkaException

        try:
            producer.poll(timeout)
        except KafkaException as trouble:
            error = trouble.args[0]
            if error.name() != self._trouble:
                log.warning("the producer failed for good and is made anew: %s", error.str())
            self._trouble = error.name()
            with self._seen.lock:
                self._seen.restarts += 1
            return False
        return True

    def _round(self, producer: Any, now: float) -> None:
        with self._seen.lock:
            begun = {partition: start for partition, start in self._seen.starts.items() if partition in self._seen.homes}
            for tally in self._seen.tallies.values():
                tally.look(now)
        if begun != self._known:
            self._introduce(producer)
            self._known = begun
        for partition in begun:
            self._one(producer, partition)

    def _introduce(self, producer: Any) -> None:
        """A producer refuses what it has not heard of, and would hear of it only at its next look at the metadata."""
        from confluent_kafka import KafkaException

        with suppress(KafkaException):
            producer.list_topics(self._plan.topic, timeout=METADATA)

    def _one(self, producer: Any, partition: int) -> None:
        from confluent_kafka import KafkaException

        number = self._next[partition]
        self._next[partition] += 1
        with self._seen.lock:
            self._seen.tallies[partition].send(number, self._clock())

        def delivered(error: Any, message: Any) -> None:
            with self._seen.lock:
                tally = self._seen.tallies[partition]
                if error is not None:
                    tally.fail(number, str(error.name()))
                    return
                self._trouble = ""
                if (took := tally.ack(number, message.offset(), self._clock())) is not None:
                    self._seen.acks.setdefault(self._seen.served_by(partition), Histogram()).add(took)

        try:
            producer.produce(self._plan.topic, f"{self._instance} {number}", partition=partition, on_delivery=delivered)
        except (BufferError, KafkaException) as trouble:
            error = "_QUEUE_FULL" if isinstance(trouble, BufferError) else str(trouble.args[0].name())
            with self._seen.lock:
                self._seen.tallies[partition].fail(number, error)
