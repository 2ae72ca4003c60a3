"""A producer of the audit's own, for reports alone: one at a time, and it is known of each whether it has arrived."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

LOG = logging.getLogger("interceptors.audit")
USUAL = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 0,
    "message.timeout.ms": 20_000,
    "compression.type": "zstd",
    "log_level": 0,  # the client next door complains of the same brokers already
    "client.id": "kafka-trial-audit",
}
ASK_WITHIN = 5.0  # seconds for one try to create the topic
NOBODY_THERE = ("_TRANSPORT", "_TIMED_OUT", "_ALL_BROKERS_DOWN", "_DESTROY")
TOPIC_CONFIG = {"cleanup.policy": "delete", "message.timestamp.type": "LogAppendTime"}


class Sender:
    """Belongs to one thread. Nothing here raises."""

    def __init__(self, connection: Mapping[str, Any], topic: str) -> None:
        self._config, self._topic = USUAL | dict(connection), topic
        self._producer: Any = None
        self._topic_asked = False
        self._asking: tuple[Any, Any] | None = None  # an admin client, and what it will answer
        self._complained = False

    def sent(self, key: bytes, message: bytes, patience: Callable[[float], float], meanwhile: Callable[[], None]) -> bool:
        """Whether it has certainly arrived; if not, it may have, and may be sent again. `patience`: seconds left."""
        began = time.monotonic()
        try:
            return patience(began) > 0 and self._sent(key, message, lambda: patience(began), meanwhile)
        except Exception as trouble:  # BufferError, KafkaException, a configuration that librdkafka does not take
            self._complain(trouble)
            return False

    def _sent(self, key: bytes, message: bytes, patience: Callable[[], float], meanwhile: Callable[[], None]) -> bool:
        from confluent_kafka import Producer

        if self._producer is None:
            self._producer = Producer(self._config)
        self._ask_for_the_topic(patience, meanwhile)
        told: list[Any] = []
        self._producer.produce(self._topic, message, key, on_delivery=lambda error, _: told.append(error))
        while not told and (left := patience()) > 0:
            self._producer.poll(min(left, 0.1))
            meanwhile()
        if not told:
            self._producer.purge()
            self._producer.poll(0)
            self._complain("no acknowledgement in time")
            return False
        if told[0] is not None:
            self._complain(told[0])
            if told[0].fatal():
                self._producer = None
            return False
        self._complained = False
        return True

    def _ask_for_the_topic(self, patience: Callable[[], float], meanwhile: Callable[[], None]) -> None:
        """Whoever may not create topics may still write to one; who finds nobody asks again the next time."""
        from confluent_kafka.admin import AdminClient, NewTopic

        if self._topic_asked:
            return
        if self._asking is None:
            connection = {key: value for key, value in self._config.items() if key not in _PRODUCERS_OWN}
            new = NewTopic(self._topic, num_partitions=1, replication_factor=-1, config=TOPIC_CONFIG)
            admin = AdminClient(connection)
            # Kept together: what an admin client was asked is never answered once nobody holds it any more.
            self._asking = admin, admin.create_topics([new], request_timeout=ASK_WITHIN)[self._topic]
        _, made = self._asking
        while not made.done() and patience() > 0:
            time.sleep(0.02)
            meanwhile()
        if made.done():
            self._asking, error = None, made.exception()
            self._topic_asked = error is None or error.args[0].name() not in NOBODY_THERE

    def _complain(self, trouble: object) -> None:
        if not self._complained:
            self._complained = True
            LOG.warning("reports of the audit cannot be delivered to %s for now: %s", self._topic, trouble)


_PRODUCERS_OWN = ("acks", "enable.idempotence", "linger.ms", "message.timeout.ms", "compression.type")
