"""Commits how far the reader has come, as an application would, and takes the time.

With a consumer of its own: librdkafka begins no partition while a commit is under way, and a group coordinator that does not
answer would keep the reader from reading.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from exporters.probe.seen import ProbePlan, Seen

POLL = 0.2
EVERY = 1.0


class Committer:
    def __init__(
        self, config: Mapping[str, Any], plan: ProbePlan, seen: Seen, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._config, self._plan, self._seen, self._clock = config, plan, seen, clock
        self._due = 0.0
        self._since: float | None = None  # the commit that is under way

    def run(self, stop: threading.Event) -> None:
        """With one consumer: until a commit is given up, for its answer may come yet, and would be taken for another's."""
        from confluent_kafka import Consumer

        if self._seen.topic_id is None:
            stop.wait(POLL)
            return
        consumer, self._since = Consumer({**self._config, "on_commit": self._answered}), None
        try:
            while not stop.is_set():
                consumer.poll(POLL)
                now = self._clock()
                if self._since is not None and now - self._since > self._plan.give_up_after:
                    self._failed("_TIMED_OUT")
                    return
                if self._since is None and now >= self._due:
                    self._commit(consumer, now)
        finally:
            consumer.close()

    def _commit(self, consumer: Any, now: float) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        with self._seen.lock:
            positions = {part: at for part, at in self._seen.positions.items() if part in self._seen.homes}
        if not positions:
            return
        self._due, self._since = now + EVERY, now
        try:
            where = [TopicPartition(self._plan.topic, partition, offset) for partition, offset in positions.items()]
            consumer.commit(offsets=where, asynchronous=True)
        except KafkaException as trouble:
            self._failed(str(trouble.args[0].name()))

    def _answered(self, error: Any, partitions: list[Any]) -> None:
        wrong = error or next((where.error for where in partitions if where.error is not None), None)
        if wrong is not None:
            self._failed(str(wrong.name()))
        elif self._since is not None:
            with self._seen.lock:
                self._seen.commits.add(self._clock() - self._since)
            self._since = None

    def _failed(self, error: str) -> None:
        self._since = None
        with self._seen.lock:
            self._seen.commit_errors[error] += 1
